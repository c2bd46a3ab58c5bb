whole
kubectl delete pod visitor -n demo --ignore-not-found
kubectl delete service web -n demo --ignore-not-found
kubectl delete deployment web -n demo --ignore-not-found
