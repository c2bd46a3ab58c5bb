etcdctl member promote $(id $newcomer)
