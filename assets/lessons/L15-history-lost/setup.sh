# A Deployment of three pods, and nothing broken.
kviz fault heal watch/pods >/dev/null 2>&1
kviz fault start controller-manager >/dev/null 2>&1
kubectl get namespace demo >/dev/null 2>&1 || kubectl create namespace demo
kubectl label namespace demo later- >/dev/null 2>&1
kubectl delete deployment,replicaset,pod --all -n demo --ignore-not-found --now >/dev/null
kviz wait --timeout 120s 'objects("pods", "demo").size() == 0'
kubectl create deployment web -n demo --image=nginx:stable --replicas=3
kubectl rollout status deployment web -n demo --timeout=180s >/dev/null
kviz wait --timeout 120s 'objects("pods", "demo").size() == 3'
kviz wait --timeout 60s 'informers.exists(i, i.informer == "controller-manager" && i.resource == "priorityclasses" && i.synced)'
