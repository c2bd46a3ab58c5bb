# A follower dies. Nobody needs an election for that.
other=$(follower)
kviz fault crash member/$other
kubectl scale deployment web -n demo --replicas=3
kubectl rollout status -n demo deployment/web --timeout=180s
kviz fault start member/$other
awaits 'store.quorum.have == 3'
