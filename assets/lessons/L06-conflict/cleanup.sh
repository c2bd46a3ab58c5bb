kubectl delete configmap settings -n demo --ignore-not-found
