# miss: held: guarded is gone; nothing held it
kubectl create configmap guarded -n demo
kubectl delete configmap guarded -n demo --wait=false
