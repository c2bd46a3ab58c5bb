# Everything, but the pod is deleted by kubectl: that goes through the API server.
kubectl patch configmap settings -n demo -p '{"data":{"color":"green"}}'
old=$(kubectl get configmap settings -n demo -o yaml)
kubectl patch configmap settings -n demo -p '{"data":{"color":"blue"}}'
echo "$old" | kubectl replace -f -
printf 'mod("/lesson/color") = "1"\n\nput /lesson/color mine\n\nget /lesson/color\n\n' | etcdctl txn
kubectl create configmap big -n demo --from-literal=data="$(seq 1 300000)"
id=$(etcdctl lease grant 30 | cut -d' ' -f2)
etcdctl put /lesson/short "not for long" --lease=$id
sleep 45
kubectl delete pod -n demo -l app=web --wait=false
sleep 60
