# miss: small: a larger quota only gains time; the same writes go on filling it
kviz fault quota store 2GiB
etcdctl alarm disarm
kviz fault compact store
