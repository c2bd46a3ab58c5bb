# The key on the lease is gone, but not because its time was over.
kubectl patch configmap settings -n demo -p '{"data":{"color":"green"}}'
old=$(kubectl get configmap settings -n demo -o yaml)
kubectl patch configmap settings -n demo -p '{"data":{"color":"blue"}}'
echo "$old" | kubectl replace -f -
printf 'mod("/lesson/color") = "1"\n\nput /lesson/color mine\n\nget /lesson/color\n\n' | etcdctl txn
kubectl create configmap big -n demo --from-literal=data="$(seq 1 300000)"
id=$(etcdctl lease grant 30 | cut -d' ' -f2)
etcdctl put /lesson/short "not for long" --lease=$id
etcdctl lease revoke $id
pod=$(kubectl get pods -n demo -l app=web -o jsonpath='{.items[0].metadata.name}')
etcdctl del /registry/pods/demo/$pod
sleep 20
