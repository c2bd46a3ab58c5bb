# A transaction that wants to make a key that there is.
printf 'create("/registry/configmaps/demo/settings") = "0"\n\nput /lesson/x 1\n\n\n' | etcdctl txn
