kubectl patch configmap guarded -n demo --type=merge -p '{"metadata":{"finalizers":null}}' >/dev/null 2>&1
kubectl delete configmap guarded lost -n demo --ignore-not-found
kviz fault start controller-manager
kubectl delete deployment,replicaset,pod --all -n demo --ignore-not-found --now
kviz resume
