# A follower dies. Nobody needs an election for that.
for m in a b c; do
  kviz wait --timeout 1ms "store.leader != \"$m\"" >/dev/null 2>&1 && other=$m
done
kviz fault crash member/$other
kubectl scale deployment web -n demo --replicas=3
kubectl rollout status -n demo deployment/web --timeout=180s
kviz fault start member/$other
kviz wait --timeout 60s 'store.quorum.have == 3'
