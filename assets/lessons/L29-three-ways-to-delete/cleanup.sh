kubectl patch configmap kept -n demo --type=merge -p '{"metadata":{"finalizers":null}}' >/dev/null 2>&1
kubectl delete configmap kept lost -n demo --ignore-not-found
kubectl delete deployment,replicaset,pod --all -n demo --ignore-not-found --now
kviz fault start controller-manager
kviz resume
