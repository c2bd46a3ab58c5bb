one=$(follower)
gone stop $one
gone crash $one
powerless $one 20s
lagging $one
damaged $one flip
replaced $one
one=$(follower)
kviz fault wipe member/$one
kviz fault start member/$one && exit 1
replaced $one
