# Everything, but the leader goes first and is not asked again.
key=/registry/configmaps/demo/settings
old=$(kubectl get configmap settings -n demo -o jsonpath='{.metadata.resourceVersion}')
kubectl patch configmap settings -n demo -p '{"data":{"color":"last"}}'
etcdctl get $key --rev=$old --keys-only
kviz fault compact store
etcdctl get $key --rev=$old --keys-only
first=$(leader)
kviz wait --timeout 60s 'store.members.all(m, store.members[m].dbInUse * 2 < store.members[m].dbSize)'
kviz fault defrag member/$first
for m in a b c; do
  [ $m = $first ] || kviz fault defrag member/$m
done
kubectl patch configmap settings -n demo -p '{"data":{"color":"new"}}'
kviz fault compact store
kviz fault restart apiserver
sleep 10
