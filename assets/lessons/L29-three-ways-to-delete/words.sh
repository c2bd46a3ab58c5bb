deployed() { # web, with three pods that are ready
  kubectl create deployment web -n demo --image=nginx:stable --replicas=3
  kubectl rollout status deployment web -n demo --timeout=180s >/dev/null
}
empty() { # nothing of it is left
  kviz wait --timeout 120s 'objects("pods", "demo").size() == 0 && objects("replicasets", "demo").size() == 0 && object("deployments", "demo", "web") == null'
}
adopted() {
  kviz wait --timeout 120s 'objects("replicasets", "demo").exists(r, has(r.metadata.ownerReferences))'
}
nobodys='{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"nobody","uid":"11111111-2222-3333-4444-555555555555"}]}}'
background() {
  kubectl delete deployment web -n demo
  empty
}
foreground() {
  deployed
  kubectl delete deployment web -n demo --cascade=foreground --wait=false
  empty
}
orphans() {
  deployed
  kubectl delete deployment web -n demo --cascade=orphan
}
guarded() {
  kubectl create configmap kept -n demo
  kubectl patch configmap kept -n demo -p '{"metadata":{"finalizers":["example.com/guard"]}}'
  kubectl delete configmap kept -n demo --wait=false
}
