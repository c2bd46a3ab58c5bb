crashed
kubectl rollout status -n demo deployment/web --timeout=180s
kviz fault start member/$old
settled
slowly 6

# Two of three: the leader, and one more.
one=$(leader)
two=$(follower)
lost $one $two
kubectl scale deployment web -n demo --replicas=5 && exit 1

kviz fault start member/$one
awaits 'store.leader != ""'
kubectl annotate deployment web -n demo lesson=done --overwrite
kviz fault start member/$two
awaits 'store.quorum.have == 3 && store.leader != ""'
