# miss: malformed: without strict validation the API server drops the unknown field with a warning, and stores the rest
echo '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"typo"},"dat":{}}' | kubectl create -n demo --validate=warn -f - || true
kubectl create configmap Bad_Name -n demo || true
kubectl patch configmap first -n demo -p '{"metadata":{"resourceVersion":"1"}}' || true
