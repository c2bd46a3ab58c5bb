# Another slowness, a full disk of whoever leads now, a smaller quota, and etcdctl for the compaction.
slowed 350ms
moved
kviz fault heal member/$old
full $other
overfull 1.5MiB
etcdctl compact $(etcdctl get nothing -w fields | grep '"Revision"' | cut -d: -f2 | tr -d ' ')
holes
kviz fault defrag store
small
etcdctl alarm disarm
sleep 5
