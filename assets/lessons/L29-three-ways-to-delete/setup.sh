# A Deployment of two pods, and nothing of an earlier attempt.
kviz fault start controller-manager >/dev/null 2>&1
kubectl get namespace demo >/dev/null 2>&1 || kubectl create namespace demo
kubectl patch configmap guarded -n demo --type=merge -p '{"metadata":{"finalizers":null}}' >/dev/null 2>&1
kubectl delete deployment,replicaset,pod --all -n demo --ignore-not-found --now >/dev/null
kubectl delete configmap guarded lost -n demo --ignore-not-found >/dev/null
kviz wait --timeout 120s 'objects("pods", "demo").size() == 0 && objects("replicasets", "demo").size() == 0'
deployed
