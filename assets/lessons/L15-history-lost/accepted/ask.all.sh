# The pods of all namespaces, and another old revision.
kubectl get --raw '/api/v1/pods?watch=true&resourceVersion=2&timeoutSeconds=2'
