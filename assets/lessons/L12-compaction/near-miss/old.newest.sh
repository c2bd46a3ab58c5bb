# miss: old-read: this is the newest value; read the key at an older revision
etcdctl get /registry/configmaps/demo/settings --keys-only
