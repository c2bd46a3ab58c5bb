# The same stages refuse other requests, in another order.
first
storm 2 1200
kubectl create service clusterip Bad_Name -n demo --tcp=80 || true
echo '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"first","resourceVersion":"1"},"data":{"color":"red"}}' | kubectl replace -n demo -f - || true
echo '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"typo"},"date":{}}' | kubectl create -n demo --validate=strict -f - || true
kubectl get secrets -n demo --as system:serviceaccount:demo:default || true
kubectl --token=expired create configmap Bad_Name -n demo || true
