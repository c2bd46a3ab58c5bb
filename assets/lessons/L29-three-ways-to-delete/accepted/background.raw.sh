# Without kubectl's help.
kubectl delete --raw '/apis/apps/v1/namespaces/demo/deployments/web?propagationPolicy=Background'
empty
