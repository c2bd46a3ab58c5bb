api='object("apiservices", "", "v1beta1.metrics.k8s.io")'
away() {
  kubectl -n kube-system scale deployment metrics-server --replicas=0
  kviz wait --timeout 60s "$api.status.conditions.exists(c, c.type == \"Available\" && c.status == \"False\")"
}
doomed() {
  kubectl delete namespace demo --wait=false
  kviz wait --timeout 60s 'object("namespaces", "", "demo").status.conditions.exists(c, c.type == "NamespaceDeletionDiscoveryFailure" && c.status == "True")'
}
gone() {
  kubectl wait --for=delete namespace/demo --timeout=120s
}
