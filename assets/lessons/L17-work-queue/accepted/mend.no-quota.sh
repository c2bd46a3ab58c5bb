kubectl delete quota one -n demo
