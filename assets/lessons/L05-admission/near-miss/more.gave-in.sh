# miss: converged: later asks for 2 now; it should get four
kubectl scale deployment later -n demo --replicas=2
