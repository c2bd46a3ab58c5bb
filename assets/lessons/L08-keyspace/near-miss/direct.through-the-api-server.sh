# miss: direct: this deletion goes through the API server
kubectl delete pod $gone -n demo --wait=false
