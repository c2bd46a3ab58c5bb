# The follower misses a few entries only, and gets them from the log.
one=$(follower)
gone stop $one
gone crash $one
powerless $one 3s
kviz fault stop member/$one
wrote
kviz fault start member/$one
settled
damaged $one flip
replaced $one
