# Without a revision: the same, from the newest state.
kubectl get --raw '/api/v1/namespaces/demo/configmaps?watch=true&timeoutSeconds=2'
