# Another pod that runs, but nothing was ever broken.
kubectl run late-pod -n demo --image=nginx:1.27-alpine
kubectl wait -n demo --for=condition=Ready pod/late-pod --timeout=120s
