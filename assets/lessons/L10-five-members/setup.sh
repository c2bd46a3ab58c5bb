# Three healthy members, and a pod that keeps writing.
kubectl get namespace demo >/dev/null 2>&1 || kubectl create namespace demo
kubectl apply -f manifests/ledger.yaml >/dev/null
kubectl wait -n demo --for=condition=Ready pod/writer --timeout=180s
for m in i h g f e d c b a; do
  if kviz wait --timeout 1ms "store.members.exists(x, x == \"$m\") && (store.quorum.total > 3 || store.members[\"$m\"].learner)" >/dev/null 2>&1; then
    kviz fault remove member/$m
  fi
done
kviz wait --timeout 60s 'store.leader != "" && store.quorum.have == 3 && store.quorum.total == 3'
