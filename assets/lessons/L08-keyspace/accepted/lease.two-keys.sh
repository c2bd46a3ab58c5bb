# A longer lease, for two keys.
id=$(etcdctl lease grant 60 | cut -d' ' -f2)
etcdctl put /lesson/one 1 --lease=$id
etcdctl put /lesson/two 2 --lease=$id
