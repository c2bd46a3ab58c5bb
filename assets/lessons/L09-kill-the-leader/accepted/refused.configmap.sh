# Any write is refused, not a scale only.
kubectl create configmap another -n demo --from-literal=a=b
