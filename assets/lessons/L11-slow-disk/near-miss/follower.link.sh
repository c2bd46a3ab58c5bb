# It is the network that is slow, not the disk.
kviz fault delay member/$slow $leads 300ms
