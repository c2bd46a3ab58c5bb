# miss: small: a larger quota gives time and no more; what fills the database goes on filling it
kviz fault quota store 2GiB
etcdctl alarm disarm
kviz fault compact store
