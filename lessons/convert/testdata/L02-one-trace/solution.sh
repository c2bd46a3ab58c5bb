kubectl apply -f manifests/pod.yaml
kubectl wait -n demo --for=condition=Ready pod/hello-pod --timeout=120s

kviz fault stop registry
kubectl run late-pod -n demo --image=nginx:1.27-alpine
kviz wait --timeout 120s 'pod("demo/late-pod").containers["late-pod"].reason == "ImagePullBackOff"'

kviz fault start registry
kubectl wait -n demo --for=condition=Ready pod/late-pod --timeout=600s
