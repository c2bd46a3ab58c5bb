# miss: deleted: you deleted the Deployment; nobody makes pods for it any more
kubectl delete deployment web -n demo
