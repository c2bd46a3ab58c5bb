# The quota allows fewer than there are.
kubectl create quota few -n demo --hard=pods=2
counted
kubectl scale deployment later -n demo --replicas=3
