# The other pod.
other=$(kubectl get pods -n demo -l app=web -o jsonpath='{.items[1].metadata.name}')
etcdctl del /registry/pods/demo/$other
