# Other writers, a transaction that asks for a key's creation, a longer lease for two keys, and the other pod.
kubectl annotate configmap settings -n demo seen=once
kubectl label configmap settings -n demo color=none
old=$(kubectl get configmap settings -n demo -o json)
kubectl patch configmap settings -n demo --type=merge -p '{"data":{"size":"small"}}'
echo "$old" | kubectl replace -f -
printf 'create("/registry/configmaps/demo/settings") = "0"\n\nput /lesson/x 1\n\n\n' | etcdctl txn
kubectl create configmap big -n demo --from-literal=data="$(seq 1 250000)"
id=$(etcdctl lease grant 60 | cut -d' ' -f2)
etcdctl put /lesson/one 1 --lease=$id
etcdctl put /lesson/two 2 --lease=$id
sleep 100
pod=$(kubectl get pods -n demo -l app=web -o jsonpath='{.items[1].metadata.name}')
etcdctl del /registry/pods/demo/$pod
sleep 20
kubectl rollout status -n demo deployment/web --timeout=180s
