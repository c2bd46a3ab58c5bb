# The slow disk is mended, and the leadership never moves.
slowed 300ms
kviz fault fast member/$old
sleep 1
full $(follower)
overfull 2MiB
kviz fault compact store
holes
kviz fault defrag store
kviz fault disarm store
sleep 5
