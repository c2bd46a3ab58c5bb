# A clean stop is no crash, but the leader is as gone.
kviz fault stop member/$old
kubectl scale deployment web -n demo --replicas=3
