kubectl get namespace demo >/dev/null 2>&1 || kubectl create namespace demo
kubectl -n demo get deployment web >/dev/null 2>&1 || kubectl -n demo create deployment web --image=nginx:1.27 --replicas=3
kubectl -n demo scale deployment web --replicas=3 >/dev/null
kubectl -n demo rollout status deployment/web >/dev/null
