# It is only killed where its machine should lose power: what was written is there, synced or not.
one=$(follower)
gone stop $one
gone crash $one
kviz fault slow member/$one 300ms
gone crash $one
kviz fault fast member/$one
lagging $one
damaged $one flip
replaced $one
one=$(follower)
kviz fault wipe member/$one
kviz fault start member/$one
replaced $one
