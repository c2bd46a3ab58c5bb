kubectl patch pod $pod1 -n demo -p '{"metadata":{"labels":{"app":"web"}}}'
