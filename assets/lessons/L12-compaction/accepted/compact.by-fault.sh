# By the verb of faults, which takes the newest revision, and with another old revision.
kviz fault compact store
etcdctl get /registry/configmaps/demo/settings --rev=$made --keys-only
