# One pod less, and the other is still refused.
kubectl scale deployment web -n demo --replicas=1
