# A pod that keeps writing, a ConfigMap that is large, and three healthy members.
kubectl get namespace demo >/dev/null 2>&1 || kubectl create namespace demo
kubectl delete configmap settings -n demo --ignore-not-found >/dev/null
padding=$(seq 1 10000)
kubectl create configmap settings -n demo --from-literal=color=c0 --from-literal=padding="$padding" >/dev/null
kubectl apply -f manifests/ledger.yaml >/dev/null
kubectl wait -n demo --for=condition=Ready pod/writer --timeout=180s
kviz wait --timeout 60s 'store.leader != "" && store.quorum.have == store.quorum.total'
