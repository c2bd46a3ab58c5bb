# A namespace, and no pod of an earlier attempt in it.
kubectl get namespace demo >/dev/null 2>&1 || kubectl create namespace demo
kubectl delete pod --all -n demo --ignore-not-found --now >/dev/null
kviz wait --timeout 120s 'objects("pods", "demo").size() == 0'
