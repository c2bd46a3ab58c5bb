# Compacted and defragmented, but a restart alone sends nobody back to the beginning.
key=/registry/configmaps/demo/settings
old=$(kubectl get configmap settings -n demo -o jsonpath='{.metadata.resourceVersion}')
kubectl patch configmap settings -n demo -p '{"data":{"color":"last"}}'
etcdctl get $key --rev=$old --keys-only
kviz fault compact store
etcdctl get $key --rev=$old --keys-only
kviz fault defrag store
sleep 30
