# The webhook is started again, so no pod ever comes without its second container.
web
broken stop
kviz fault start $injector
ready 2
crowded
kubectl patch quota few -n demo -p '{"spec":{"hard":{"pods":"6"}}}'
ready 4
