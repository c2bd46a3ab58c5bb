# Puts the cluster back.
kubectl delete namespace demo --ignore-not-found
