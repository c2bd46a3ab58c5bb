# Solves the lesson.
kubectl delete pod -n demo $(kubectl get pods -n demo -o jsonpath='{.items[0].metadata.name}')
kubectl rollout status -n demo deployment/web --timeout=180s
kviz wait --timeout 60s 'object("deployments", "demo", "web").status.readyReplicas == 2'
sleep 2
