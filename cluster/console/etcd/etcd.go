// Package etcd is etcdctl and etcdutl in the console: etcd's own programs, v3.7, each
// run as a process of its own (package etcdtool), all of whose requests go through
// the kernel.
//
// A process cannot be given a connection into the simulation, but gRPC asks the
// proxy that the environment names: the console is that proxy (gate.go). While a
// program computes, virtual time stands, as for kubectl.
//
// Simplified: of several endpoints the first is asked, where etcdctl picks one at
// random; and what would never end (lock, elect, make-mirror, a watch in a script) is
// refused with a sentence that says why.
//
// Start reading at [Clients.Ctl], then gate.go.
package etcd

import (
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/raftstore/etcdapi"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.TheConsole, How: simulated.Simplified,
	What: "of several endpoints etcdctl asks the first, where the real one picks one at random; lock, elect, make-mirror, check and what never ends are refused",
	Seen: "their refusals",
})

// Store is the cluster's store as etcdctl sees it. Methods with a task are called
// on the kernel's goroutine, as part of the task.
type Store interface {
	// Members are the members' names. The first one is whom etcdctl asks when it
	// is not told.
	Members() []string
	// Up reports whether a member runs.
	Up(member string) bool
	// Serve makes the store answer etcd's clients on listeners of the console's.
	Serve(etcdapi.Config) (*etcdapi.Server, error)
	// Do carries a request to the store and waits until its effect is visible.
	// Errors are etcd's own.
	Do(t *sim.Task, req *pb.InternalRaftRequest) (proto.Message, error)
	// Revision is the newest revision that has become visible.
	Revision() int64
	// Settle waits until a member has everything that is visible, where nothing
	// keeps it from that.
	Settle(t *sim.Task, member string)
}

// Clients are the etcdctls of one console.
type Clients struct {
	store Store

	mu   sync.Mutex
	gate *gate // nil before it is needed
}

// New makes them.
func New(store Store) *Clients { return &Clients{store: store} }
