# Nothing is wrong with that list.
etcdutl snapshot restore backup.db --name a --initial-cluster a=http://a:2380,b=http://b:2380 --initial-advertise-peer-urls http://a:2380 --data-dir other
