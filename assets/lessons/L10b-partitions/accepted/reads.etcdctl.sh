# Single members are asked by etcdctl.
etcdctl get /registry/configmaps/demo/ledger --endpoints=b --consistency=s --keys-only
etcdctl get /registry/configmaps/demo/ledger --endpoints=$new --keys-only
etcdctl get /registry/configmaps/demo/ledger --endpoints=b --command-timeout=2s --keys-only || true
