# Looks right, and must not pass: scaling deletes a pod too, but nobody asked for that pod to be deleted.
kubectl scale deployment web -n demo --replicas=1
kubectl scale deployment web -n demo --replicas=2
kubectl rollout status -n demo deployment/web --timeout=180s
