# Who leads?
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

kviz fault add-learner store
joined d
promote d
kviz wait --timeout 60s 'store.quorum.total == 4'
kviz fault add-learner store
joined e
promote e
kviz wait --timeout 60s 'store.quorum.total == 5'
settled

# Two of five may fail, three may not.
kviz fault crash member/e
kviz fault crash member/d
sleep 2
one=$(leader)
for m in a b c; do
  [ $m != $one ] && two=$m
done
kviz fault crash member/$two
kviz wait --timeout 60s 'store.leader == ""'
kviz fault start store
settled

# The leader and a companion on one side.
old=$(leader)
for m in a b c d e; do
  [ $m != $old ] && friend=$m
done
kviz fault partition store $old,$friend
kviz wait --timeout 60s "store.leader != \"\" && store.leader != \"$old\""
sleep 2
kviz read /registry/configmaps/demo/ledger
kviz fault heal store
settled

kviz fault split-vote store
kviz wait --timeout 60s 'store.leader != ""'
settled

kviz fault remove member/e
kviz fault remove member/d
kviz wait --timeout 60s 'store.quorum.total == 3 && store.quorum.have == 3 && store.leader != ""'
