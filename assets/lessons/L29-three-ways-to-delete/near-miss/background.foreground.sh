# miss: owner-first: the Deployment went last; that is another policy
kubectl delete deployment web -n demo --cascade=foreground --wait=false
empty
