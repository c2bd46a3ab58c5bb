# miss: noticed: a restart is over before the balancer sees enough failed checks; leave it down
kviz fault restart apiserver
kviz wait --timeout 60s 'processes["apiserver"].up'
kubectl scale deployment web -n demo --replicas=3
kubectl rollout status -n demo deployment/web --timeout=180s
