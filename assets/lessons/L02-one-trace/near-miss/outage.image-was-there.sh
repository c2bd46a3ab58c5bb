# The registry is away, but the pod's image is on every node already, so nothing waits for it.
kubectl create deployment warm -n demo --image=nginx:stable --replicas=6
kubectl rollout status -n demo deployment/warm --timeout=300s
kviz fault stop registry
kubectl scale deployment warm -n demo --replicas=9
kubectl rollout status -n demo deployment/warm --timeout=300s
