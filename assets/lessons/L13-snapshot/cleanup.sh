whole
kubectl delete deployment front middle back late -n demo --ignore-not-found
