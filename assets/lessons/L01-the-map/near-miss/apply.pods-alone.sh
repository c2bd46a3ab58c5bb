# Pods, but nothing that says how many there should be.
kubectl run hello-1 -n demo --image=nginx:stable
kubectl run hello-2 -n demo --image=nginx:stable
kubectl wait -n demo --for=condition=Ready pod/hello-1 pod/hello-2 --timeout=120s
