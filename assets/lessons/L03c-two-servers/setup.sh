# A second server, the components' connections at the first one, and a Deployment.
kviz apiserver etcd-servers --all >/dev/null
kviz apiserver servers | grep -q apiserver/b || kviz apiserver add >/dev/null
kviz fault start apiserver
kviz fault start apiserver/b
kviz wait --timeout 60s 'balancer.servers.size() > 1 && balancer.servers.all(s, s.up)'
kviz fault stop apiserver/b
sleep 10
kviz fault start apiserver/b
kviz wait --timeout 60s 'balancer.servers.all(s, s.up)'
kubectl get namespace demo >/dev/null 2>&1 || kubectl create namespace demo
kubectl delete configmap lesson -n demo --ignore-not-found >/dev/null
kubectl delete deployment web -n demo --ignore-not-found >/dev/null
kubectl create deployment web -n demo --image=nginx:stable --replicas=1
kubectl rollout status -n demo deployment/web --timeout=180s
sleep 60 # every watch has had a bookmark since
