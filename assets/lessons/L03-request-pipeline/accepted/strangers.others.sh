# Other strangers, who only read.
kubectl get secrets -n demo --as system:serviceaccount:demo:default || true
kubectl --token=expired get pods -n demo || true
