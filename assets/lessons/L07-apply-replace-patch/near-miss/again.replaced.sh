# miss: reset: the shape is gone; that was no apply
echo '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"},"data":{"color":"red","size":"small"}}' | kubectl replace -n demo -f -
