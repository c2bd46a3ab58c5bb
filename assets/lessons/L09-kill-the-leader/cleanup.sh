whole
kubectl delete deployment web -n demo --ignore-not-found
kubectl delete -f manifests/ledger.yaml --ignore-not-found
