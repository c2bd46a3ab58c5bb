# Three deletions in the same way.
background
deployed
background
deployed
background
deployed
guarded
kubectl patch configmap kept -n demo --type=merge -p '{"metadata":{"finalizers":null}}'
