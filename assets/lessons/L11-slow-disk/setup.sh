# A pod that keeps writing, a ConfigMap that is large, and three healthy members.
writing
kubectl delete configmap settings -n demo --ignore-not-found >/dev/null
padding=$(seq 1 10000)
kubectl create configmap settings -n demo --from-literal=color=c0 --from-literal=padding="$padding" >/dev/null
awaits 'store.leader != "" && store.quorum.have == store.quorum.total'
