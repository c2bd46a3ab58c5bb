package mvcc

import (
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// Counts is what a store did since it was made or opened: etcd's metrics of
// these names. Durations are of the machine's clock, and nothing depends on them.
type Counts struct {
	Puts, Deletes  uint64
	PutBytes       uint64 // of keys and values
	Compacted      uint64 // revisions that compactions threw away
	LastCompaction int64  // in seconds since 1970
	Compactions    Durations
	Applied        [len(Operations)][2]Durations // by operation; [0] failed, [1] went well
	Slow           uint64                        // took longer than [SlowApply]
}

// SlowApply is from when on etcd calls the application of a request slow.
//
// Mirrors etcd server/embed/config.go DefaultWarningApplyDuration.
const SlowApply = 100 * time.Millisecond

// Operations are the requests that a store applies, as etcd names them.
var Operations = [...]string{"Range", "Put", "DeleteRange", "Txn", "Compaction", "LeaseGrant", "LeaseRevoke", "LeaseCheckpoint"}

// operation is a request's place among Operations; -1 if it has none.
func operation(r *pb.InternalRaftRequest) int {
	switch {
	case r.Range != nil:
		return 0
	case r.Put != nil:
		return 1
	case r.DeleteRange != nil:
		return 2
	case r.Txn != nil:
		return 3
	case r.Compaction != nil:
		return 4
	case r.LeaseGrant != nil:
		return 5
	case r.LeaseRevoke != nil:
		return 6
	case r.LeaseCheckpoint != nil:
		return 7
	}
	return -1
}

// Durations is a histogram: how often something took up to 0.1 ms, 0.2 ms, and
// so on, twice as long each time.
type Durations struct {
	Count uint64
	Sum   time.Duration
	UpTo  [buckets]uint64 // each only those that the one before does not count
}

const (
	buckets = 20
	least   = 100 * time.Microsecond
)

func (d *Durations) add(took time.Duration) {
	d.Count++
	d.Sum += took
	i, limit := 0, least
	for i < buckets && took > limit {
		i, limit = i+1, 2*limit
	}
	if i < buckets {
		d.UpTo[i]++
	}
}

// Seconds gives the histogram as Prometheus has it: by upper bound in seconds,
// each counting all that took no longer.
func (d *Durations) Seconds() map[float64]uint64 {
	all := make(map[float64]uint64, buckets)
	sum, limit := uint64(0), least.Seconds()
	for _, n := range d.UpTo {
		sum += n
		all[limit] = sum
		limit *= 2
	}
	return all
}

// applied counts the end of a request.
func (c *Counts) applied(op int, well bool, took time.Duration) {
	if op < 0 {
		return
	}
	result := 0
	if well {
		result = 1
	}
	c.Applied[op][result].add(took)
	if took > SlowApply {
		c.Slow++
	}
}

// Counts tells what the store did.
func (s *Store) Counts() Counts { return s.counts }
