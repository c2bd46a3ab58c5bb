# The damaged member is replaced before it has looked at its disk.
one=$(follower)
gone stop $one
gone crash $one
powerless $one 3s
lagging $one
kviz fault crash member/$one
kviz fault corrupt member/$one
replaced $one
one=$(follower)
kviz fault wipe member/$one
kviz fault start member/$one
replaced $one
