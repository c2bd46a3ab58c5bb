# A Deployment of one pod, no quota, and no slow queue.
kviz fault fast queue/replicaset >/dev/null 2>&1
kubectl get namespace demo >/dev/null 2>&1 || kubectl create namespace demo
kubectl delete quota --all -n demo >/dev/null 2>&1
kubectl delete deployment,replicaset,pod --all -n demo --ignore-not-found --now >/dev/null
kviz wait --timeout 120s 'objects("pods", "demo").size() == 0'
kubectl create deployment web -n demo --image=nginx:stable --replicas=1
kubectl rollout status deployment web -n demo --timeout=180s >/dev/null
kviz wait --timeout 120s 'objects("pods", "demo").size() == 1'
