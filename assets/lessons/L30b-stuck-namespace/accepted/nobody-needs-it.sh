# Nobody needs the API any more.
away
doomed
kubectl delete apiservice v1beta1.metrics.k8s.io
gone
