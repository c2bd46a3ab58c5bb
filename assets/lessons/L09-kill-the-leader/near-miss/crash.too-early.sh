# Asked before there was anything to wait for.
kubectl scale deployment web -n demo --replicas=3
kviz fault crash member/a
