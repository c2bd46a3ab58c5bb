# It is crashed, not stopped, and somebody edits the replicas.
kviz fault crash apiserver
kubectl patch deployment web -n demo -p '{"spec":{"replicas":4}}'
kubectl rollout status -n demo deployment/web --timeout=180s
kviz wait --timeout 60s 'balancer.servers.exists(s, s.server == "apiserver" && !s.up)'
