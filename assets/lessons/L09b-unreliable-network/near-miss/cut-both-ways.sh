# A member that neither hears nor is heard is simply away: the leader is cut off, and then a follower.
old=$(leader)
kviz fault cut member/$old
elected $old
kviz fault heal member/$old
settled
kviz fault cut member/$(follower)
wrote
kviz fault heal store
settled
far 40ms
kviz fault heal store
settled
old=$(leader)
one=$(follower)
two=$(follower $one)
bad drop 0.2
bad duplicate 0.4
bad reorder 0.3
through 40
kviz fault heal store
settled
