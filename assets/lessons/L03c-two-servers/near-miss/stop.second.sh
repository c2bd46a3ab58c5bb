# miss: moved: that was apiserver/b; most components have their connections at apiserver
kviz fault stop apiserver/b
kubectl scale deployment web -n demo --replicas=3
kubectl rollout status -n demo deployment/web --timeout=180s
kviz fault start apiserver/b
