# Everything, but the leader is on the side of the three: nobody has to be elected.
leader() {
  for m in a b c d e; do
    kviz wait --timeout 1ms "store.leader == \"$m\"" >/dev/null 2>&1 && echo $m
  done
}
joined() { # MEMBER: it has the log, and can be promoted
  kviz wait --timeout 60s "store.members[\"$1\"].learner && store.members[\"$1\"].last == store.members[store.leader].last"
}
promote() {
  for try in $(seq 30); do kviz fault promote member/$1 && break; sleep 1; done
}
settled() {
  kviz wait --timeout 60s 'store.leader != "" && store.quorum.have == store.quorum.total && store.members.all(m, store.members[m].last == store.members[store.leader].last)'
}
for m in d e; do
  kviz fault add-learner store
  joined $m
  promote $m
  settled
done
kviz fault crash member/e
kviz fault crash member/d
sleep 2
kviz fault crash member/c
kviz wait --timeout 60s 'store.leader == ""'
kviz fault start store
settled
kviz fault lead member/a
kviz wait --timeout 60s 'store.leader == "a"'
kviz fault partition store d,e
sleep 2
kviz read /registry/configmaps/demo/ledger
kviz fault heal store
settled
kviz fault split-vote store
kviz wait --timeout 60s 'store.leader != ""'
settled
kviz fault remove member/e
kviz fault remove member/d
kviz wait --timeout 60s 'store.quorum.total == 3'
