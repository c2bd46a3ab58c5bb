first() { # the one that is stored
  kubectl create configmap first -n demo --from-literal=color=blue
  kviz wait --timeout 60s 'object("configmaps", "demo", "first") != null'
  sleep 1
}
stranger() {
  kubectl --token=nonsense get pods -n demo || true
}
jane() {
  kubectl create configmap second -n demo --as jane || true
}
typo() {
  echo '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"typo"},"dat":{}}' | kubectl create -n demo --validate=strict -f - || true
}
misnamed() {
  kubectl create configmap Bad_Name -n demo || true
}
late() {
  kubectl patch configmap first -n demo -p '{"metadata":{"resourceVersion":"1"}}' || true
}
storm() { # SEATS REQUESTS
  kviz apiserver concurrency $1
  kviz apiserver storm alice $2
  kviz apiserver concurrency 600
}
