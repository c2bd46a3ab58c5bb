package etcd3

import (
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/cluster/sim"
	"kviz/cluster/storage"
)

// Probe is the check of the store behind /livez and /readyz: a read, by quorum, of
// a key that need not be there (storagebackend/factory etcd3ProberMonitor.Probe).
type Probe struct {
	Conn *storage.Conn

	asked bool
	last  time.Duration // when
	err   error         // what the last probe came to
}

const (
	// probeTimeout is storagebackend.DefaultHealthcheckTimeout and DefaultReadinessTimeout.
	probeTimeout = 2 * time.Second
	// probeEvery is how often the store is probed at most; earlier requests get the last
	// probe's result.
	probeEvery = probeTimeout / 2
)

// Ask reads from the store, and gives what is wrong with it.
func (p *Probe) Ask(t *sim.Task) error {
	if p.asked && t.Elapsed()-p.last < probeEvery {
		return p.err
	}
	p.asked, p.last = true, t.Elapsed()
	outer := t.Deadline()
	t.SetDeadline(t.Elapsed() + probeTimeout)
	_, p.err = p.Conn.Range(t, &pb.RangeRequest{Key: []byte("/registry/health")})
	t.SetDeadline(outer)
	return p.err
}
