# A new pod meets the same registry: what is broken is left so.
kubectl delete pod late-pod -n demo --now
kubectl run late-pod -n demo --image=nginx:1.27-alpine
