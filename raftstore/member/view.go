package member

import (
	"fmt"

	"kviz/raftstore/mvcc"
)

// View lets fn look at the member's own state, however old that is. No entry
// is applied meanwhile: fn must be quick, must change nothing and must not keep
// the store. What it reads from the store may be kept, but not changed.
func (m *Member) View(fn func(kv *mvcc.Store)) error {
	inc := m.running.Load()
	if inc == nil {
		return fmt.Errorf("member %s: %w", m.cfg.ID, ErrDown)
	}
	inc.machine.mu.RLock()
	defer inc.machine.mu.RUnlock()
	fn(inc.machine.kv)
	return nil
}
