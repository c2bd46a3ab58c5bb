# One member joins, not two. Of four, two may not fail, and two against two is nobody's majority.
joined() { # MEMBER: it has the log, and can be promoted
  kviz wait --timeout 60s "store.members[\"$1\"].learner && store.members[\"$1\"].last == store.members[store.leader].last"
}
promote() {
  for try in $(seq 30); do kviz fault promote member/$1 && break; sleep 1; done
}
settled() {
  kviz wait --timeout 60s 'store.leader != "" && store.quorum.have == store.quorum.total && store.members.all(m, store.members[m].last == store.members[store.leader].last)'
}
kviz fault add-learner store
joined d
promote d
settled
kviz fault crash member/d
sleep 2
kviz fault crash member/c
kviz wait --timeout 60s 'store.leader == ""'
kviz fault start store
settled
kviz fault partition store a,b
kviz wait --timeout 60s 'store.leader == ""'
kviz read /registry/configmaps/demo/ledger
kviz fault heal store
settled
kviz fault remove member/d
kviz wait --timeout 60s 'store.quorum.total == 3'
