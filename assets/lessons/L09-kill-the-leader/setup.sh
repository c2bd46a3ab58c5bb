# A Deployment that is up, a pod that keeps writing, and three healthy members.
kubectl get namespace demo >/dev/null 2>&1 || kubectl create namespace demo
kubectl delete deployment web -n demo --ignore-not-found >/dev/null
kubectl create deployment web -n demo --image=nginx:stable --replicas=2
kubectl rollout status -n demo deployment/web --timeout=180s
kubectl apply -f manifests/ledger.yaml >/dev/null
kubectl wait -n demo --for=condition=Ready pod/writer --timeout=180s
kviz wait --timeout 60s 'store.leader != "" && store.quorum.have == 3'
