kviz fault heal watch/configmaps
kviz resume
kubectl delete configmap settings large after -n demo --ignore-not-found
