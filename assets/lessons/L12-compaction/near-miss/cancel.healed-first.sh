# miss: cancelled: it has caught up, for the history was there
kviz fault heal watch/configmaps
sleep 2
kviz fault compact store
