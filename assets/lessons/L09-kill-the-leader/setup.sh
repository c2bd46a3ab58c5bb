# A Deployment that is up, a pod that keeps writing, and three healthy members.
writing
kubectl delete deployment web -n demo --ignore-not-found >/dev/null
kubectl create deployment web -n demo --image=nginx:stable --replicas=2
kubectl rollout status -n demo deployment/web --timeout=180s
awaits 'store.leader != "" && store.quorum.have == 3'
