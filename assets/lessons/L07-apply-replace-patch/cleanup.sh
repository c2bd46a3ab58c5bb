kubectl delete configmap settings -n demo --ignore-not-found
kubectl delete deployment web -n demo --ignore-not-found
kviz resume
