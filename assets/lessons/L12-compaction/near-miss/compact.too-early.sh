# The newest value of settings is newer than that.
etcdctl compact $made
etcdctl get /registry/configmaps/demo/settings --rev=$made --keys-only
