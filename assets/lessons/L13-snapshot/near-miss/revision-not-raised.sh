# Everything is back, but the store counts from an old number: whoever watches may believe that nothing happens.
etcdctl snapshot save backup.db
kubectl create deployment late -n demo --image=nginx:stable
kubectl rollout status -n demo deployment/late --timeout=180s
kubectl delete deployment front -n demo
kviz fault wipe member/c
kviz fault wipe member/b
kviz wait --timeout 60s 'store.leader == "" && !store.quorum.ok'
kviz restore backup.db
kviz wait --timeout 120s 'store.quorum.have == 3 && store.leader != ""'
sleep 60
