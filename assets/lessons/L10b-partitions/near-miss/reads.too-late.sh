# miss: still-cut: the network is whole again, so nobody can be behind for long
kviz fault heal store
settled
kviz read /registry/configmaps/demo/ledger
