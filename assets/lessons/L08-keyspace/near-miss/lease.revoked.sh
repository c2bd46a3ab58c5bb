# miss: expired: you revoked the lease; it should expire by itself
id=$(etcdctl lease grant 30 | cut -d' ' -f2)
etcdctl put /lesson/short "not for long" --lease=$id
etcdctl lease revoke $id
