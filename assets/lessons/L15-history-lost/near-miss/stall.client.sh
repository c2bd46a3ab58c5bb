# It is the controller manager's watch that is stalled, not the API server's.
kviz fault stall informer/controller-manager/pods
kubectl delete -n demo --force --grace-period=0 --wait=false $(kubectl get pods -n demo -o name | head -n 1)
