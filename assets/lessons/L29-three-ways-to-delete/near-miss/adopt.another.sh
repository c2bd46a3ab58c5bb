# miss: adopted: a new ReplicaSet was made; the orphan does not match the selector
kubectl create deployment other -n demo --image=nginx:stable
kubectl rollout status deployment other -n demo --timeout=180s
