# miss: exceeded: the quota let a pod pass; allow fewer pods, or scale higher
# There is room for all that is asked.
kubectl create quota few -n demo --hard=pods=5
counted
kubectl scale deployment later -n demo --replicas=4
kviz wait --timeout 60s 'objects("pods", "demo").size() == 5'
