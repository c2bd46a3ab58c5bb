# kubectl create instead of apply, and a Deployment whose image nobody has.
kubectl create -f manifests/pod.yaml
kviz wait --timeout 120s 'object("pods", "demo", "hello-pod").status.phase == "Running"'
kubectl wait -n demo --for=condition=Ready pod/hello-pod --timeout=120s
kviz fault stop registry
kubectl create deployment late -n demo --image=busybox:1.36-glibc --replicas=1 -- sleep 1d
kviz wait --timeout 120s 'objects("pods", "demo").exists(p, p.status.containerStatuses.exists(c, c.state.waiting.reason == "ImagePullBackOff"))'
kviz fault start registry
kubectl rollout status -n demo deployment/late --timeout=600s
