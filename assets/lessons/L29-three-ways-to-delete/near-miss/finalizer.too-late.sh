# miss: held: guarded is gone; it had no finalizer
kubectl create configmap guarded -n demo
kubectl delete configmap guarded -n demo --wait=false
