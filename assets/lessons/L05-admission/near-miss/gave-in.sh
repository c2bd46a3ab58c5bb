# The quota has its way: the Deployment wants fewer pods.
web
broken stop
failing Ignore
ready 2
crowded
kubectl scale deployment later -n demo --replicas=2
sleep 5
