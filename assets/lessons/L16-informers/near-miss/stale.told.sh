# Nobody keeps the controller manager from hearing of the pod.
kubectl -n demo delete --grace-period=1 $(one)
kubectl -n demo rollout status deployment/web --timeout=120s
