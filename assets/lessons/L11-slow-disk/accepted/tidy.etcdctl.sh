# All of it with etcdctl.
etcdctl compact $(etcdctl get nothing -w fields | grep '"Revision"' | cut -d: -f2 | tr -d ' ')
awaits 'store.members.all(m, store.members[m].dbInUse * 2 < store.members[m].dbSize)'
etcdctl defrag --cluster
awaits 'store.members.all(m, store.members[m].dbSize * 2 < store.quota)'
etcdctl alarm disarm
