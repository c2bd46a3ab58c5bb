# Two members crash and come back with everything: no backup is needed.
etcdctl snapshot save backup.db
kubectl create deployment late -n demo --image=nginx:stable
kubectl rollout status -n demo deployment/late --timeout=180s
kubectl delete deployment front -n demo
kviz fault crash member/c
kviz fault crash member/b
kviz wait --timeout 60s 'store.leader == "" && !store.quorum.ok'
kviz fault start member/b
kviz fault start member/c
kviz wait --timeout 120s 'store.quorum.have == 3 && store.leader != ""'
kubectl create deployment front -n demo --image=nginx:stable
kubectl delete deployment late -n demo
sleep 30
