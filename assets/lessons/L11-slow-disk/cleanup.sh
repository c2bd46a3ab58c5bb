whole
kviz fault quota store 2GiB
kviz fault disarm store
kubectl delete configmap settings -n demo --ignore-not-found
kubectl delete -f manifests/ledger.yaml --ignore-not-found
