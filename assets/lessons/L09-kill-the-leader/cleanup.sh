for m in a b c; do
  kviz fault start member/$m
done
kviz resume
kubectl delete deployment web -n demo --ignore-not-found
kubectl delete -f manifests/ledger.yaml --ignore-not-found
