# Sets the scene. It runs before the lesson, and again when somebody begins anew.
kubectl get namespace demo >/dev/null 2>&1 || kubectl create namespace demo
kubectl get deployment web -n demo >/dev/null 2>&1 || kubectl create deployment web -n demo --image=nginx:stable --replicas=2
kubectl rollout status -n demo deployment/web --timeout=180s
