# miss: slow-leader: the disk of b is still slow; make it fast, so that there is one cause
kviz fault slow member/$(leader) 300ms
