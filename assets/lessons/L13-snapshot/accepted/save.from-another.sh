# A copy from a follower. The name stays, for the beats after it.
etcdctl snapshot save backup.db --endpoints=b:2379
