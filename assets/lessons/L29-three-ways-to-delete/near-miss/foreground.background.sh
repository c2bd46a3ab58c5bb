# miss: marked: the Deployment went first again; the policy has to be Foreground
deployed
kubectl delete deployment web -n demo
empty
