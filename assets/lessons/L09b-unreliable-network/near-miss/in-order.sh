# Everything, but no message ever overtakes another.
unheard
unhearing
far 40ms
kviz fault heal store
settled
old=$(leader)
one=$(follower)
two=$(follower $one)
bad drop 0.2
bad duplicate 0.4
through 20
kviz fault heal store
settled
