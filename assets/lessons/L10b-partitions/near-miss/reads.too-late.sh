# miss: still-cut: the network is whole again, so no member stays behind for long
kviz fault heal store
settled
kviz read /registry/configmaps/demo/ledger
