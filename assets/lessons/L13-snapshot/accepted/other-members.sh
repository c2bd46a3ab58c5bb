# A copy from another member, other members lost, and the revision raised by another number.
etcdctl snapshot save copy.db --endpoints=b:2379
kubectl create deployment late -n demo --image=nginx:stable --replicas=2
kubectl wait -n demo --for=jsonpath='{.status.readyReplicas}'=2 deployment/late --timeout=180s
kubectl delete deployment front -n demo
kviz fault crash member/a
kviz fault wipe member/a
kviz fault wipe member/b
kviz wait --timeout 60s 'store.leader == "" && !store.quorum.ok'
kviz restore copy.db --bump-revision 5000 --mark-compacted
kviz wait --timeout 120s 'store.quorum.have == 3 && store.leader != ""'
kubectl rollout status -n demo deployment/front --timeout=180s
kviz wait --timeout 120s 'object("deployments", "demo", "late") == null && nodes.all(n, !nodes[n].pods.exists(p, p.startsWith("demo/late-")))'
