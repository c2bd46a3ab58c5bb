# miss: old-read: this is the newest value; ask for the key at an older revision
etcdctl get /registry/configmaps/demo/settings --keys-only
