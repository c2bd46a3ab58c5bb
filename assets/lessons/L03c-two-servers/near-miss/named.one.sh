# miss: named: this is one member only; without it the API server has no store
kviz apiserver etcd-servers $one
