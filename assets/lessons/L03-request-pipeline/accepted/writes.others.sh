# The same stages refuse other writes, in another order.
kubectl create service clusterip Bad_Name -n demo --tcp=80 || true
echo '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"first","resourceVersion":"1"},"data":{"color":"red"}}' | kubectl replace -n demo -f - || true
echo '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"typo"},"date":{}}' | kubectl create -n demo --validate=strict -f - || true
