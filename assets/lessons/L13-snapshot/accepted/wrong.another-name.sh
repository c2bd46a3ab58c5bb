# A name that is in nobody's list.
etcdutl snapshot restore backup.db --name c --initial-cluster x=http://x:2380,y=http://y:2380 --data-dir wrong
