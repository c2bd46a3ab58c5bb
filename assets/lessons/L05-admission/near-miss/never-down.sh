# The policy is changed before anything was refused.
web
failing Ignore
sleep 1
broken stop
ready 2
crowded
kubectl patch quota few -n demo -p '{"spec":{"hard":{"pods":"6"}}}'
ready 4
