package cacher

import (
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/cluster/apiserver/encrypt"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/sim"
	"kviz/cluster/storage"
	"kviz/cluster/trace"
)

// Config is what the caches of one server have in common.
type Config struct {
	Process     *sim.Process // the server's
	Store       Store
	Transformer func(k *registry.Kind) *encrypt.Transformer // how a kind's values are encrypted
	Wires       *Wires                                      // to the clients
	Size        int                                         // of the windows, exactly; 0: as it needs to be
	Deliver     time.Duration                               // the modelled time from a cache to a watcher
}

// Store is what feeds a cache: the server's connection to the store.
type Store interface {
	Watch(name, prefix string, causes ...trace.ID) *storage.Watch
	Range(t *sim.Task, r *pb.RangeRequest) (*pb.RangeResponse, error)
	Revision() int64
}
