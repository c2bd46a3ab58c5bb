# miss: foreign: that token is not signed by the cluster; ask for a genuine one, with another audience
kubectl get pods -n demo --token="$(kubectl create token my-app -n demo)"
kubectl get pods -n demo --token=nonsense
