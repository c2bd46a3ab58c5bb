# Nobody needs the API any more.
kubectl delete apiservice v1beta1.metrics.k8s.io
