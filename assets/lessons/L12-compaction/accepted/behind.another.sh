# Another ConfigMap is what the watch misses.
kviz fault stall watch/configmaps
kubectl create configmap after -n demo
kubectl delete configmap after -n demo
