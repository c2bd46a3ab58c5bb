# A Deployment behind a Service, somebody who asks it every second, and three healthy members.
kubectl get namespace demo >/dev/null 2>&1 || kubectl create namespace demo
shrunk 3
voters 3
kubectl get deployment web -n demo >/dev/null 2>&1 || kubectl create deployment web -n demo --image=nginx:stable --replicas=2
kubectl get service web -n demo >/dev/null 2>&1 || kubectl expose deployment web -n demo --port=80
kubectl rollout status -n demo deployment/web --timeout=180s
kubectl get pod visitor -n demo >/dev/null 2>&1 || kubectl run visitor -n demo --image=busybox --restart=Always -- sh -c 'while true; do wget -qO- http://web; sleep 1; done'
kubectl wait -n demo --for=condition=Ready pod/visitor --timeout=180s
