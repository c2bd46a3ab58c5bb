# The webhook, and a namespace with what is usual in it.
kubectl apply -f manifests/webhooks/sidecar-injector.yaml >/dev/null
kviz fault start $injector >/dev/null 2>&1
kubectl rollout status -n webhooks deployment/sidecar-injector --timeout=180s >/dev/null
kubectl get namespace demo >/dev/null 2>&1 || kubectl create namespace demo
kubectl delete deployment,replicaset,pod,resourcequota --all -n demo --ignore-not-found --now >/dev/null
kviz wait --timeout 120s 'objects("pods", "demo").size() == 0'
echo '{"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"usual"},"spec":{"limits":[{"type":"Container","defaultRequest":{"cpu":"50m"}}]}}' | kubectl apply -n demo -f - >/dev/null
sleep 1
