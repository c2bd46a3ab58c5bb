# A Deployment whose image nobody has.
kviz fault stop registry
kubectl create deployment late -n demo --image=busybox:1.36-glibc --replicas=1 -- sleep 1d
