# miss: expired: the watch has caught up, because the history was still there
# A watch can still be told the revision at which the history begins.
etcdctl compact $gone
kviz fault heal watch/pods
