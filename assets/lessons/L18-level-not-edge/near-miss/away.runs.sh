# It is told of every deletion.
kubectl delete -n demo --grace-period=1 $(kubectl get pods -n demo -o name | head -n 2)
kviz wait --timeout 60s 'objects("pods", "demo").filter(p, !("deletionTimestamp" in p.metadata)).size() == 4'
