# A Deployment of three pods, and nothing of an earlier attempt.
kubectl get namespace demo >/dev/null 2>&1 || kubectl create namespace demo
kubectl delete deployment,replicaset,pod --all -n demo --ignore-not-found --now >/dev/null
kubectl delete configmap kept lost -n demo --ignore-not-found >/dev/null
kviz wait --timeout 120s 'objects("pods", "demo").size() == 0'
deployed
