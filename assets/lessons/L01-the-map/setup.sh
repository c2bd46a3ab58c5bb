# A namespace, and nothing in it of an earlier attempt.
kubectl get namespace demo >/dev/null 2>&1 || kubectl create namespace demo
kubectl delete deployment --all -n demo --ignore-not-found >/dev/null
kubectl delete pod --all -n demo --ignore-not-found --now >/dev/null
kviz wait --timeout 120s 'objects("deployments", "demo").size() == 0 && objects("pods", "demo").size() == 0'
