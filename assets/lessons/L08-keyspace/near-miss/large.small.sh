# miss: invalid: this one was small enough, and is stored
kubectl create configmap big -n demo --from-literal=data="$(seq 1 1000)"
