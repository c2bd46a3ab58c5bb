# metrics-server runs and knows the nodes; a namespace has a ConfigMap.
kubectl apply -f manifests/metrics-server.yaml >/dev/null
kubectl -n kube-system scale deployment metrics-server --replicas=1 >/dev/null
kubectl -n kube-system rollout status deployment/metrics-server >/dev/null
kviz wait --timeout 60s 'object("apiservices", "", "v1beta1.metrics.k8s.io").status.conditions.exists(c, c.type == "Available" && c.status == "True")'
for try in $(seq 60); do
  if kubectl top nodes >/dev/null 2>&1; then break; fi
  sleep 1
done
kubectl get namespace demo >/dev/null 2>&1 || kubectl create namespace demo
kubectl -n demo get configmap settings >/dev/null 2>&1 || kubectl -n demo create configmap settings --from-literal=sky=blue
