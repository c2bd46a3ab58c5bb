# By the verbs of faults, which know the order, and with kubectl's own restart of nothing.
key=/registry/configmaps/demo/settings
old=$(kubectl get configmap settings -n demo -o jsonpath='{.metadata.resourceVersion}')
kubectl patch configmap settings -n demo -p '{"data":{"color":"last"}}'
etcdctl get $key --rev=$old --keys-only
kviz fault compact store
etcdctl get $key --rev=$old --consistency=s --keys-only
kviz wait --timeout 60s 'store.members.all(m, store.members[m].dbInUse * 2 < store.members[m].dbSize)'
kviz fault defrag store
kviz wait --timeout 60s 'store.members.all(m, has(store.members[m].defrag) && store.members[m].defrag.done)'
for m in a b c; do
  kviz wait --timeout 1ms "store.leader == \"$m\"" >/dev/null 2>&1 && kviz fault defrag member/$m
done
kubectl create configmap after -n demo
kviz fault compact store
kviz fault restart apiserver
sleep 10
