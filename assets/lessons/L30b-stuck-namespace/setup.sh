kubectl apply -f manifests/metrics-server.yaml >/dev/null
kubectl -n kube-system scale deployment metrics-server --replicas=1 >/dev/null
kubectl -n kube-system rollout status deployment/metrics-server >/dev/null
kviz wait --timeout 60s "$api.status.conditions.exists(c, c.type == \"Available\" && c.status == \"True\")"
kubectl get namespace demo >/dev/null 2>&1 || kubectl create namespace demo
kubectl -n demo get configmap colours >/dev/null 2>&1 || kubectl -n demo create configmap colours --from-literal=sky=blue
