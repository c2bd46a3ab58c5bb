kubectl delete mutatingwebhookconfiguration sidecar-injector --ignore-not-found
kubectl delete namespace webhooks --ignore-not-found --timeout=60s
kubectl delete deployment,replicaset,pod,resourcequota,limitrange --all -n demo --ignore-not-found --now
kviz resume
