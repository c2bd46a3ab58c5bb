kviz fault heal store
kviz fault start store
kviz fault fast-elections store
kviz resume
kviz wait --timeout 60s 'store.leader != ""'
# Back to three voters, whatever they are called now.
for m in i h g f e d c b a; do
  if kviz wait --timeout 1ms "store.members.exists(x, x == \"$m\") && (store.quorum.total > 3 || store.members[\"$m\"].learner)" >/dev/null 2>&1; then
    kviz fault remove member/$m
  fi
done
kubectl delete -f manifests/ledger.yaml --ignore-not-found
