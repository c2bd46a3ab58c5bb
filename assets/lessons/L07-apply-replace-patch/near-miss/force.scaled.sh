# miss: mine: the number is yours, but the field is not; an update does not apply
for n in 3 1; do
  echo '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":'$n'}}' > $n.json
done
kubectl apply -n demo --server-side --force-conflicts --field-manager=scaler -f 3.json
kubectl apply -n demo --server-side -f 1.json
kubectl scale deployment web -n demo --replicas=1
