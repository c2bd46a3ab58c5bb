package member

import "github.com/hashicorp/raft"

// due takes a snapshot as soon as one is due. Raft alone looks once in half a minute,
// and a busy store has tens of thousands of entries by then, which a restart would have
// to apply again. etcd's snapshots cost next to nothing, because its keys are on the
// disk already; these hold all keys, so a large store waits until it has applied half
// its own size too: then all its snapshots together write at most twice what its log
// does. Its size is what a snapshot of it would write, about: half of the pages that
// bbolt would have for it can be empty, and counting those it would never reach half.
func (inc *incarnation) due(logs []*raft.Log) {
	bytes := int64(0)
	for _, l := range logs {
		bytes += int64(len(l.Data))
	}
	bytes = inc.unsnapped.Add(bytes)
	m, last := inc.m, logs[len(logs)-1].Index
	if !inc.live.Load() || m.held.Load() || m.cfg.SnapshotEvery == 0 || last < inc.snapshotted.Load()+m.cfg.SnapshotEvery {
		return
	}
	_, inUse := inc.machine.sizes()
	if size := min(inUse, inc.written.Load()+bytes); 2*bytes < size || inc.snapshotting.Swap(true) {
		return
	}
	// Whether it succeeds or not, the next one is due that much later.
	inc.snapshotted.Store(last)
	inc.unsnapped.Store(0)
	m.cfg.Go("snapshot of "+m.cfg.ID, func() {
		defer inc.snapshotting.Store(false)
		// Why it failed is in raft's log; a full disk tells itself.
		_ = inc.raft.Snapshot().Error()
	})
}
