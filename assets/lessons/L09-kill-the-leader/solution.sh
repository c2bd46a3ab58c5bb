# Who leads?
leader() {
  for m in a b c; do
    kviz wait --timeout 1ms "store.leader == \"$m\"" >/dev/null 2>&1 && echo $m
  done
}
old=$(leader)

kviz fault crash member/$old
kviz wait --timeout 60s "store.leader != \"\" && store.leader != \"$old\""
kubectl scale deployment web -n demo --replicas=3
kubectl rollout status -n demo deployment/web --timeout=180s

kviz fault start member/$old
kviz wait --timeout 60s 'store.quorum.have == 3 && store.members.all(m, store.members[m].last == store.members[store.leader].last)'

# Two of three: the leader, and one more.
one=$(leader)
for m in a b c; do
  [ $m != $one ] && two=$m
done
kviz fault stop member/$one
kviz fault stop member/$two
kviz wait --timeout 60s '!store.quorum.ok && store.leader == ""'
kubectl scale deployment web -n demo --replicas=5 && exit 1

kviz fault start member/$one
kviz wait --timeout 60s 'store.leader != ""'
kubectl annotate deployment web -n demo lesson=done --overwrite
kviz fault start member/$two
kviz wait --timeout 60s 'store.quorum.have == 3 && store.leader != ""'
