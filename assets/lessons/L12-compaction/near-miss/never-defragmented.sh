# The history is gone, and the files are as large as before.
key=/registry/configmaps/demo/settings
old=$(kubectl get configmap settings -n demo -o jsonpath='{.metadata.resourceVersion}')
kubectl patch configmap settings -n demo -p '{"data":{"color":"last"}}'
etcdctl get $key --rev=$old --keys-only
kviz fault compact store
etcdctl get $key --rev=$old --keys-only
kubectl patch configmap settings -n demo -p '{"data":{"color":"new"}}'
kviz fault compact store
kviz fault restart apiserver
sleep 10
