copied backup.db
etcdutl snapshot status backup.db -w table
lost wipe c b
kubectl create deployment nobody -n demo --image=nginx:stable --request-timeout=5s && exit 1
mistaken backup.db a
etcdutl snapshot restore backup.db --name a --initial-cluster a=http://a:2380,b=http://b:2380,c=http://c:2380 --initial-advertise-peer-urls http://a:2380 --data-dir a.etcd
kviz restore backup.db --bump-revision 1000000000 --mark-compacted
front
