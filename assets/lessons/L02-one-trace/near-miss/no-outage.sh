# Two pods that run, but nothing was ever broken.
kubectl apply -f manifests/pod.yaml
kubectl wait -n demo --for=condition=Ready pod/hello-pod --timeout=120s
kubectl run late-pod -n demo --image=nginx:1.27-alpine
kubectl wait -n demo --for=condition=Ready pod/late-pod --timeout=120s
