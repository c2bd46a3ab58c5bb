kubectl delete quota few -n demo
