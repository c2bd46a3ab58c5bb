# By etcdctl, at a revision after the one that the watch has to be told.
etcdctl put note later
etcdctl compact $((gone + 1))
kviz fault heal watch/pods
