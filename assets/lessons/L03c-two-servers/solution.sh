away 3
back
old=$(leader)
one=$(follower)
through $one $old
kviz fault start member/$one
settled
