# It is removed, and another joins, with etcdctl.
dismissed $one
welcomed d
