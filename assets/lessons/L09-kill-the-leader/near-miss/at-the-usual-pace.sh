# Everything, but the second election is as fast as any.
crashed
kviz fault start member/$old
settled
lost a b
kubectl scale deployment web -n demo --replicas=5
kviz fault start store
awaits 'store.quorum.have == 3 && store.leader != ""'
kubectl annotate deployment web -n demo lesson=done --overwrite
