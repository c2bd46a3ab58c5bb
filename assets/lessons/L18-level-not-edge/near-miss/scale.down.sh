# miss: made: a pod was deleted; web should get one more
kubectl scale deployment web -n demo --replicas=2
kviz wait --timeout 60s 'objects("pods", "demo").size() == 2'
