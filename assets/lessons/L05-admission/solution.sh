web
broken stop
failing Ignore
ready 2
crowded
kubectl patch quota few -n demo -p '{"spec":{"hard":{"pods":"6"}}}'
ready 4
