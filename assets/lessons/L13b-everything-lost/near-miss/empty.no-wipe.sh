# A backup alone empties nothing.
etcdctl snapshot save backup.db
sleep 10
