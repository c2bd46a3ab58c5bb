package view

import (
	"time"

	"kviz/cluster/trace"
)

// Floors are how far a cluster has fallen that has lost its store. A cluster is floors that
// stand on one another: the store, what the API server writes there, what it reads, the Leases
// of scheduler and controllers, those of the nodes. Without a quorum they go one after another,
// each when its own evidence is there; pods, rules and Services stand by themselves.
type Floors struct {
	Quorum  Quorum        // among the members that reach one another
	Store   bool          // it has no quorum
	Since   time.Duration // it has not
	Writes  bool
	Reads   bool            // those that ask a quorum
	Refused int             // requests that the store did not answer in the last ten seconds
	Leases  map[string]bool // by process: it lost its Lease, and has not got it again
	Nodes   int             // whose Leases nobody can renew
}

// Times of the floors.
const (
	stuck   = 2 * time.Second  // from then on writes count as down, though none was refused yet
	counted = 10 * time.Second // refusals of so long are counted

	// NodeGrace is the age of a Lease from which on its node is late: the node lifecycle
	// controller's grace period, which kube-controller-manager has by default.
	NodeGrace = 40 * time.Second
)

// Floors looks at each floor's own evidence.
func (s *State) Floors() Floors {
	f := Floors{Quorum: s.Reach(), Leases: map[string]bool{}}
	f.Store = f.Quorum.Total > 0 && !f.Quorum.OK()
	for process, lease := range map[string]string{trace.CompKCM: "kube-controller-manager", trace.CompScheduler: "kube-scheduler"} {
		l := s.Lease(lease)
		f.Leases[process] = l != nil && l.Holder == "" && l.Previous != ""
	}
	if !f.Store {
		return f
	}
	f.Since = s.quorumLost()
	for _, r := range s.Store.Refused {
		if r.At < f.Since {
			continue
		}
		f.Writes = f.Writes || r.Op == "txn"
		f.Reads = f.Reads || r.Op != "txn"
		if s.At-r.At <= counted {
			f.Refused++
		}
	}
	for _, r := range s.ActiveRequests() {
		if r.Request != nil && r.Reached == trace.StageStorage && r.Verb != "get" && r.Verb != "list" && r.Verb != "watch" {
			f.Writes = f.Writes || s.At-r.At > stuck
		}
	}
	for _, n := range s.Nodes() {
		if age, ok := s.LeaseAge(n.Name); ok && age >= NodeGrace {
			f.Nodes++
		}
	}
	return f
}

// quorumLost is when the quorum was lost: with the last member that went, or was cut off.
func (s *State) quorumLost() time.Duration {
	var at time.Duration
	for _, m := range s.Store.Members() {
		if !m.Up {
			at = max(at, m.Since)
		}
		for _, f := range s.FaultsOn("member/" + m.Name) {
			at = max(at, f.Since)
		}
	}
	for _, f := range s.FaultsOn("store") {
		at = max(at, f.Since)
	}
	return at
}

// LeaseAge is how long ago a node renewed its Lease.
func (s *State) LeaseAge(node string) (age time.Duration, ok bool) {
	lease := s.Object("leases", "kube-node-lease", node)
	if lease == nil {
		return 0, false
	}
	return s.At - lease.At, true
}
