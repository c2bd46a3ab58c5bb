kviz resume
etcdctl del /lesson/ --prefix
kubectl delete deployment web -n demo --ignore-not-found
kubectl delete service web -n demo --ignore-not-found
kubectl delete configmap settings big -n demo --ignore-not-found
