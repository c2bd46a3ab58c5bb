# Both pods at once: as many come back.
kubectl delete pod --all -n demo
