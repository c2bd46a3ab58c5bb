# miss: slow-leader: the disk of b is slow still; make it fast, so that there is one cause
kviz fault slow member/$(leader) 300ms
