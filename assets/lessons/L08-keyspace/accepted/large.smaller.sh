# Above the limit of validation, too.
kubectl create configmap big -n demo --from-literal=data="$(seq 1 250000)"
