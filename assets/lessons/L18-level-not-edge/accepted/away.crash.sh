# It crashes, the pods are killed, and somebody starts it again.
kviz fault crash controller-manager
kubectl delete -n demo --force --grace-period=0 $(kubectl get pods -n demo -o name | head -n 2)
kviz fault start controller-manager
