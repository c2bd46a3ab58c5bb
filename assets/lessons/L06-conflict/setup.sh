# One ConfigMap that two people want to change.
kubectl get namespace demo >/dev/null 2>&1 || kubectl create namespace demo
kubectl delete configmap settings -n demo --ignore-not-found >/dev/null
kubectl create configmap settings -n demo --from-literal=color=red --from-literal=size=small
