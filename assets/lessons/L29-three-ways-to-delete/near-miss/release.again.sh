# It is marked already.
kubectl delete configmap $held -n demo --wait=false
