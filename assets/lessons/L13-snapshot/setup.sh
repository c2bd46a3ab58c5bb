# Three Deployments, and three healthy members.
kubectl get namespace demo >/dev/null 2>&1 || kubectl create namespace demo
kubectl delete deployment late -n demo --ignore-not-found >/dev/null
for d in front middle back; do
  kubectl get deployment $d -n demo >/dev/null 2>&1 || kubectl create deployment $d -n demo --image=nginx:stable
done
for d in front middle back; do
  kubectl rollout status -n demo deployment/$d --timeout=180s
done
awaits 'store.leader != "" && store.quorum.have == 3 && store.quorum.total == 3'
