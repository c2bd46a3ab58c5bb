# A ConfigMap that was applied from a file, and a Deployment of one container.
kubectl get namespace demo >/dev/null 2>&1 || kubectl create namespace demo
kubectl delete configmap settings -n demo --ignore-not-found >/dev/null
kubectl delete deployment web -n demo --ignore-not-found >/dev/null
echo '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"},"data":{"color":"red","size":"small"}}' | kubectl apply -n demo -f -
kubectl create deployment web -n demo --image=nginx:stable
kubectl rollout status deployment web -n demo --timeout=120s >/dev/null
