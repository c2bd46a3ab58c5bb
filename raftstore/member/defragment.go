package member

import (
	"fmt"
	"time"
)

// DefragmentTime is what defragmenting takes: etcd writes the bytes in use to a new
// file, here at 100 MiB a second.
func DefragmentTime(inUse int64) time.Duration {
	return 10*time.Millisecond + time.Duration(inUse)*time.Second/(100<<20)
}

// Defragment packs the member's database, which takes as long as busy says for
// one of that size. The member answers and applies nothing meanwhile, but votes
// and appends, as etcd's.
func (m *Member) Defragment(busy func(inUse int64) (done <-chan struct{})) error {
	inc := m.running.Load()
	if inc == nil {
		return fmt.Errorf("member %s: %w", m.cfg.ID, ErrDown)
	}
	mc := inc.machine
	mc.mu.Lock()
	defer mc.mu.Unlock()
	select {
	case <-busy(mc.state.SizeInUse()):
	case <-inc.endpoint.Closed():
		// It is to go down. Raft's end waits for whoever applies entries, who waits here.
		return fmt.Errorf("member %s: %w", m.cfg.ID, ErrDown)
	}
	mc.state.Defragment()
	return nil
}
