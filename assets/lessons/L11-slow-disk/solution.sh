slowed 300ms
moved
kviz fault fast member/$old
full $old

overfull 2MiB
kviz fault compact store
holes
etcdctl defrag --cluster
small
etcdctl alarm disarm
sleep 5
