deployed() { # web, with two pods that are ready
  kubectl create deployment web -n demo --image=nginx:stable --replicas=2
  kubectl rollout status deployment web -n demo --timeout=180s >/dev/null
}
empty() { # nothing of it is left
  kviz wait --timeout 120s 'objects("pods", "demo").size() == 0 && objects("replicasets", "demo").size() == 0 && object("deployments", "demo", "web") == null'
}
