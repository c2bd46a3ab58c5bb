echo '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"},"data":{"color":"red","size":"small"}}' | kubectl apply -n demo -f -
