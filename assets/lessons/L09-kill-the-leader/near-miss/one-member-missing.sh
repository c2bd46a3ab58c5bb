# Everything but the end: the store works, but with two members only.
for m in a b c; do
  kviz wait --timeout 1ms "store.leader == \"$m\"" >/dev/null 2>&1 && old=$m
done
kviz fault crash member/$old
kviz wait --timeout 60s "store.leader != \"\" && store.leader != \"$old\""
kubectl scale deployment web -n demo --replicas=3
kviz fault start member/$old
kviz wait --timeout 60s 'store.quorum.have == 3 && store.members.all(m, store.members[m].last == store.members[store.leader].last)'
kviz fault stop member/a
kviz fault stop member/b
kviz wait --timeout 60s '!store.quorum.ok && store.leader == ""'
kubectl scale deployment web -n demo --replicas=5
kviz fault start member/a
kviz wait --timeout 60s 'store.leader != ""'
kubectl annotate deployment web -n demo lesson=done --overwrite
