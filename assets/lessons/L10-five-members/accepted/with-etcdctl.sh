# The same with etcdctl where it can, the members in another order, and a cut of single links instead of a partition.
leader() {
  for m in a b c d e; do
    kviz wait --timeout 1ms "store.leader == \"$m\"" >/dev/null 2>&1 && echo $m
  done
}
joined() { # MEMBER: it has the log, and can be promoted
  kviz wait --timeout 60s "store.members[\"$1\"].learner && store.members[\"$1\"].last == store.members[store.leader].last"
}
settled() {
  kviz wait --timeout 60s 'store.leader != "" && store.quorum.have == store.quorum.total && store.members.all(m, store.members[m].last == store.members[store.leader].last)'
}
id() {
  etcdctl member list | grep ", $1, http" | cut -d, -f1
}

for m in d e; do
  etcdctl member add $m --learner --peer-urls=http://$m:2380
  joined $m
  for try in $(seq 30); do etcdctl member promote $(id $m) && break; sleep 1; done
  kviz wait --timeout 60s "!store.members[\"$m\"].learner"
done
settled

kviz fault stop member/a
kviz fault stop member/b
kviz wait --timeout 60s 'store.leader != ""'
sleep 2
kviz fault stop member/c
kviz wait --timeout 60s 'store.leader == ""'
for m in a b c; do
  kviz fault start member/$m
done
settled

kviz fault lead member/e
kviz wait --timeout 60s 'store.leader == "e"'
kviz fault cut member/e a b c
kviz fault cut member/d a b c
kviz wait --timeout 60s 'store.leader in ["a", "b", "c"]'
sleep 2
etcdctl get /registry/configmaps/demo/ledger --endpoints=d --consistency=s --keys-only
etcdctl get /registry/configmaps/demo/ledger --endpoints=a --keys-only
etcdctl get /registry/configmaps/demo/ledger --endpoints=d --command-timeout=2s --keys-only
kviz read /registry/configmaps/demo/ledger >/dev/null
kviz fault heal member/e
kviz fault heal member/d
settled

kviz fault split-vote store
kviz wait --timeout 60s 'store.leader != ""'
settled
etcdctl member remove $(id e)
etcdctl member remove $(id d)
kviz wait --timeout 60s 'store.quorum.total == 3 && store.quorum.have == 3 && store.leader != ""'
