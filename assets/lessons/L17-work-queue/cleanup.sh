kviz fault fast queue/replicaset >/dev/null 2>&1
kubectl delete quota --all -n demo >/dev/null 2>&1
kubectl delete deployment web -n demo --ignore-not-found >/dev/null
