# miss: told: this watch was opened: revision 0 is not too old
kubectl get --raw '/api/v1/namespaces/demo/pods?watch=true&resourceVersion=0&timeoutSeconds=2'
