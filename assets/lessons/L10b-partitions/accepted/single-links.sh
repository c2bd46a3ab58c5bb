# Single links are cut instead of a partition, and single members are asked by etcdctl.
lead e
kviz fault cut member/e a b c
kviz fault cut member/d a b c
elected e
wrote
etcdctl get /registry/configmaps/demo/ledger --endpoints=d --consistency=s --keys-only
etcdctl get /registry/configmaps/demo/ledger --endpoints=a --keys-only
etcdctl get /registry/configmaps/demo/ledger --endpoints=d --command-timeout=2s --keys-only
asked
undecided
