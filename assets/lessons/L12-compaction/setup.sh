# A ConfigMap with a long history.
kubectl get namespace demo >/dev/null 2>&1 || kubectl create namespace demo
kubectl delete configmap settings -n demo --ignore-not-found >/dev/null
padding=$(seq 1 6000)
kubectl create configmap settings -n demo --from-literal=color=c0 --from-literal=padding="$padding" >/dev/null
for i in $(seq 1 40); do
  kubectl patch configmap settings -n demo -p "{\"data\":{\"color\":\"c$i\"}}" >/dev/null
done
awaits 'store.leader != "" && store.quorum.have == store.quorum.total'
