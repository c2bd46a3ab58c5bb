# A large ConfigMap with a long history, and then a small one: the API server compacts what is some minutes old.
kubectl get namespace demo >/dev/null 2>&1 || kubectl create namespace demo
kubectl delete configmap settings large -n demo --ignore-not-found >/dev/null
kubectl create configmap large -n demo --from-literal=padding="$(seq 1 6000)" >/dev/null
for i in $(seq 1 40); do
  kubectl patch configmap large -n demo -p "{\"data\":{\"color\":\"c$i\"}}" >/dev/null
done
kviz speed 1 >/dev/null
kubectl create configmap settings -n demo --from-literal=color=c0 >/dev/null
for i in $(seq 1 8); do
  kubectl patch configmap settings -n demo -p "{\"data\":{\"color\":\"c$i\"}}" >/dev/null
done
awaits 'store.leader != "" && store.quorum.have == store.quorum.total'
