# One pod goes, because fewer are wanted: so none comes back.
kubectl scale deployment hello-deploy -n demo --replicas=1
kviz wait --timeout 120s 'objects("pods", "demo").size() == 1'
