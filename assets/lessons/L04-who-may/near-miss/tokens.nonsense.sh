# miss: foreign: nobody has signed that token; ask for a genuine one, with another audience
kubectl get pods -n demo --token="$(kubectl create token my-app -n demo)"
kubectl get pods -n demo --token=nonsense
