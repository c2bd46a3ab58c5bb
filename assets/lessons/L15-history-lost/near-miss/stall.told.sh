# Nobody keeps the API server from hearing of the pod.
kubectl delete -n demo --force --grace-period=0 --wait=false $(kubectl get pods -n demo -o name | head -n 1)
kviz wait --timeout 60s 'objects("pods", "demo").filter(p, has(p.spec.nodeName)).size() == 3'
