# The namespace went first; nothing held it.
kubectl delete namespace demo
away
