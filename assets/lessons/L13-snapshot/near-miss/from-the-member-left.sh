# The quorum is back, with the newest state: front stays deleted.
etcdctl snapshot save backup.db
kubectl create deployment late -n demo --image=nginx:stable
kubectl rollout status -n demo deployment/late --timeout=180s
kubectl delete deployment front -n demo
kviz fault wipe member/c
kviz fault wipe member/b
kviz wait --timeout 60s 'store.leader == "" && !store.quorum.ok'
kviz fault recover member/a
kviz wait --timeout 120s 'store.leader == "a"'
kviz fault add-voter store
kviz fault add-voter store
kviz wait --timeout 120s 'store.quorum.have == 3'
