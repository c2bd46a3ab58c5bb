# miss: untouched: you crashed member/b, the goal says a
kviz fault crash member/b
kubectl scale deployment web -n demo --replicas=3
