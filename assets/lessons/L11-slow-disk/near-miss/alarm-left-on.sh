# Everything, but nobody takes the alarm back: there is room, and nothing is written.
slowed 300ms
moved
kviz fault fast member/$old
full $old
overfull 2MiB
kviz fault compact store
holes
etcdctl defrag --cluster
small
sleep 5
