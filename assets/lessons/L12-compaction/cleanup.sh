kviz fault heal watch/configmaps
kviz resume
kubectl delete configmap settings -n demo --ignore-not-found
kubectl delete configmap after -n demo --ignore-not-found
