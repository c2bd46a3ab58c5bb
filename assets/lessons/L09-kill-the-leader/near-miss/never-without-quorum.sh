# The leader dies and comes back, but there was a majority all the time.
for m in a b c; do
  kviz wait --timeout 1ms "store.leader == \"$m\"" >/dev/null 2>&1 && old=$m
done
kviz fault crash member/$old
kviz wait --timeout 60s "store.leader != \"\" && store.leader != \"$old\""
kubectl scale deployment web -n demo --replicas=3
kubectl rollout status -n demo deployment/web --timeout=180s
kviz fault start member/$old
kviz wait --timeout 60s 'store.quorum.have == 3'
