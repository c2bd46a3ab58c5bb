# miss: expired: the watch has caught up, because the history was still there
kviz fault heal watch/pods
sleep 2
kviz fault compact store
