# miss: away: the APIService was deleted; now nothing depends on metrics-server, and nothing hangs
kubectl delete apiservice v1beta1.metrics.k8s.io
