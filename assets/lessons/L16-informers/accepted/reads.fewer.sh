kubectl -n demo scale deployment web --replicas=2
