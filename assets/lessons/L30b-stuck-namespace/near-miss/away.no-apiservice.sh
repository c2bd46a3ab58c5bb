# miss: away: the APIService was deleted; now nobody misses the program, and nothing hangs
kubectl delete apiservice v1beta1.metrics.k8s.io
