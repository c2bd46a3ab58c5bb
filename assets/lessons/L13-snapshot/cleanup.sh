kviz fault heal store
kviz fault start store
kviz resume
kubectl delete deployment front middle back late -n demo --ignore-not-found
