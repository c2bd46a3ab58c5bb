# A ConfigMap, a Service and a Deployment with two pods.
kubectl get namespace demo >/dev/null 2>&1 || kubectl create namespace demo
kubectl delete configmap settings big -n demo --ignore-not-found >/dev/null
kubectl create configmap settings -n demo --from-literal=color=red
kubectl get deployment web -n demo >/dev/null 2>&1 || kubectl create deployment web -n demo --image=nginx:stable --replicas=2
kubectl get service web -n demo >/dev/null 2>&1 || kubectl expose deployment web -n demo --port=80
kubectl rollout status -n demo deployment/web --timeout=180s
