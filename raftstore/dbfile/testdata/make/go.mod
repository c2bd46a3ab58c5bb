// A module of its own: its etcd is not the one that kviz is built with.
module make

go 1.26

require (
	go.etcd.io/etcd/api/v3 v3.6.16
	go.etcd.io/etcd/client/v3 v3.6.16
	go.etcd.io/etcd/server/v3 v3.6.16
)
