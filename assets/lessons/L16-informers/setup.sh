# A Deployment of three pods, and nothing broken.
kviz fault heal informer/controller-manager/pods >/dev/null 2>&1
kviz fault start controller-manager >/dev/null 2>&1
kubectl get namespace demo >/dev/null 2>&1 || kubectl create namespace demo
kubectl -n demo get deployment web >/dev/null 2>&1 || kubectl -n demo create deployment web --image=nginx:stable --replicas=3
kubectl -n demo scale deployment web --replicas=3 >/dev/null
kubectl -n demo rollout status deployment/web >/dev/null
kviz wait --timeout 120s 'objects("pods", "demo").size() == 3'
