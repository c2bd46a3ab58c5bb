kviz resume
kubectl delete apiservice v1beta1.metrics.k8s.io --ignore-not-found
kubectl delete -f manifests/metrics-server.yaml --ignore-not-found
kubectl delete namespace demo --ignore-not-found
