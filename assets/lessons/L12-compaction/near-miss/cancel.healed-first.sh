# miss: cancelled: it has caught up, because the history was there
kviz fault heal watch/configmaps
sleep 2
kviz fault compact store
