# miss: doubled: the second pod was created; make a quota for one pod, and let it count, before you scale
kviz fault fast queue/replicaset
kubectl scale deployment web -n demo --replicas=2
kviz wait --timeout 60s 'objects("pods", "demo").size() == 2'
