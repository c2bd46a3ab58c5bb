etcdctl get /registry/ --prefix --keys-only | grep demo
kubectl patch configmap settings -n demo -p '{"data":{"color":"green"}}'
old=$(kubectl get configmap settings -n demo -o yaml)
kubectl patch configmap settings -n demo -p '{"data":{"color":"blue"}}'
echo "$old" | kubectl replace -f - && exit 1

etcdctl put /lesson/color red
printf 'mod("/lesson/color") = "1"\n\nput /lesson/color mine\n\nget /lesson/color\n\n' | etcdctl txn

kubectl create configmap big -n demo --from-literal=data="$(seq 1 300000)" && exit 1
seq 1 300000 | etcdctl put /lesson/big && exit 1

id=$(etcdctl lease grant 30 | cut -d' ' -f2)
etcdctl put /lesson/short "not for long" --lease=$id
sleep 45

pod=$(kubectl get pods -n demo -l app=web -o jsonpath='{.items[0].metadata.name}')
etcdctl del /registry/pods/demo/$pod
kubectl wait -n demo --for=jsonpath='{.status.readyReplicas}'=2 deployment/web --timeout=180s
sleep 20
kubectl rollout status -n demo deployment/web --timeout=180s
