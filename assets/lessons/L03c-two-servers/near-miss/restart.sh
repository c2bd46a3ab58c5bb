# A restart is so quick that the balancer never notices; and nothing happens meanwhile.
kviz fault restart apiserver
servers 'balancer.servers.all(s, s.up)'
kubectl scale deployment web -n demo --replicas=3
kubectl rollout status -n demo deployment/web --timeout=180s
old=$(leader)
one=$(follower)
through $one $old
kviz fault start member/$one
settled
