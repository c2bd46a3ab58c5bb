# miss: marked: the Deployment went first again; use the policy Foreground
deployed
kubectl delete deployment web -n demo
empty
