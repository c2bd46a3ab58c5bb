# It is crashed, not stopped; and the member that goes is the leader.
kviz fault crash apiserver
kubectl scale deployment web -n demo --replicas=4
kubectl rollout status -n demo deployment/web --timeout=180s
servers 'balancer.servers.exists(s, s.server == "apiserver" && !s.up)'
back
one=$(leader)
two=$(follower)
through $one $two
kviz fault start member/$one
settled
