kviz fault heal watch/pods
kubectl delete deployment,replicaset,pod --all -n demo --ignore-not-found --now
kviz resume
