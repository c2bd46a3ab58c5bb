# The pod is killed instead of deleted with grace.
kviz fault stall $pods
kubectl -n demo delete --force --grace-period=0 $(one)
