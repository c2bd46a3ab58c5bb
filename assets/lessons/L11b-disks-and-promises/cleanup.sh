for m in i h g f e d c b a; do
  if is "faults.exists(f, f.target == \"member/$m\" && f.fault in [\"wipe\", \"corrupt\"])"; then kviz fault rejoin member/$m; fi
done
whole
kubectl delete -f manifests/ledger.yaml --ignore-not-found
