etcdctl snapshot save backup.db
etcdutl snapshot status backup.db -w table
kubectl create deployment late -n demo --image=nginx:stable
kubectl rollout status -n demo deployment/late --timeout=180s

kubectl delete deployment front -n demo
kviz fault wipe member/c
kviz fault wipe member/b
kviz wait --timeout 60s 'store.leader == "" && !store.quorum.ok'
kubectl create deployment nobody -n demo --image=nginx:stable --request-timeout=5s && exit 1

kviz restore backup.db --bump-revision 1000000000 --mark-compacted
kviz wait --timeout 120s 'store.quorum.have == 3 && store.leader != ""'
kubectl rollout status -n demo deployment/front --timeout=180s
kviz wait --timeout 120s 'object("deployments", "demo", "late") == null && nodes.all(n, !nodes[n].pods.exists(p, p.startsWith("demo/late-")))'
