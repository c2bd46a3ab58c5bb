# Two members crash and come back with everything: no backup is needed.
copied backup.db
lost crash c b
mistaken backup.db a
kviz fault start store
voters 3
kubectl create deployment front -n demo --image=nginx:stable
kubectl delete deployment late -n demo
sleep 30
