# miss: conflict: this write was accepted; its copy was as new as the object
kubectl get configmap settings -n demo -o yaml > newest.yaml
kubectl patch -f newest.yaml --local -p '{"data":{"size":"large"}}' -o yaml | kubectl replace -f -
