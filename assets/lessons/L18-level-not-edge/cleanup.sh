kviz fault heal informer/controller-manager/pods
kviz fault start controller-manager
kubectl delete deployment,replicaset,pod --all -n demo --ignore-not-found --now
kviz resume
