# Of three events one is lost; the others tell of the pod.
kviz fault drop informer/controller-manager/pods
kubectl delete -n demo --grace-period=1 $(kubectl get pods -n demo -o name | head -n 1)
kviz wait --timeout 60s 'objects("pods", "demo").filter(p, !("deletionTimestamp" in p.metadata)).size() == 4'
