# The leader is stopped in an orderly way, with a patch as the write; then both followers go.
for m in a b c; do
  kviz wait --timeout 1ms "store.leader == \"$m\"" >/dev/null 2>&1 && old=$m
done
kviz fault stop member/$old
kviz wait --timeout 60s "store.leader != \"\" && store.leader != \"$old\""
kubectl patch deployment web -n demo -p '{"spec":{"replicas":3}}'
kviz fault start member/$old
kviz wait --timeout 60s 'store.quorum.have == 3 && store.members.all(m, store.members[m].last == store.members[store.leader].last)'
for m in a b c; do
  kviz wait --timeout 1ms "store.leader != \"$m\"" >/dev/null 2>&1 && kviz fault stop member/$m
done
kviz wait --timeout 60s '!store.quorum.ok && store.leader == ""'
kubectl create configmap note -n demo --from-literal=a=b && exit 1
for m in a b c; do
  kviz fault start member/$m
done
kviz wait --timeout 60s 'store.quorum.have == 3 && store.leader != ""'
kubectl create configmap note-2 -n demo --from-literal=a=b
