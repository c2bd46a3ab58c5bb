whole
kubectl delete -f manifests/ledger.yaml --ignore-not-found
