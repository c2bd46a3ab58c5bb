# Everything, but the first server is left down.
away 3
old=$(leader)
one=$(follower)
through $one $old
kviz fault start member/$one
settled
