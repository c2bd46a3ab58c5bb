# Everything but the end: the store works, but with two members only.
crashed
kviz fault start member/$old
settled
slowly 4
lost a b
kubectl scale deployment web -n demo --replicas=5
kviz fault start member/a
awaits 'store.leader != ""'
kubectl annotate deployment web -n demo lesson=done --overwrite
