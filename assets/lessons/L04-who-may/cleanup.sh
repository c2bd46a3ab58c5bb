kubectl delete clusterrolebinding my-app --ignore-not-found
kubectl delete rolebinding my-app -n demo --ignore-not-found
kubectl delete role pod-reader -n demo --ignore-not-found
kubectl delete secret key -n demo --ignore-not-found
kubectl delete serviceaccount my-app -n demo --ignore-not-found
kubectl delete namespace other --ignore-not-found --timeout=60s
kviz resume
