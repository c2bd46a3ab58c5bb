# Only a follower's disk was ever slow: nobody waited, and nobody had to hand anything over.
other=$(follower)
kviz fault slow member/$other 300ms
sleep 1
kviz fault fast member/$other
sleep 1
full $other
overfull 2MiB
kviz fault compact store
holes
kviz fault defrag store
kviz fault disarm store
sleep 5
