package member

import (
	"fmt"

	"kviz/raftstore/apply"
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
	fn(inc.machine.state.KV)
	return nil
}

// Change is [Member.Inspect] for what changes the state's bookkeeping though not what
// it holds, as [apply.State.Snapshot] does.
func (m *Member) Change(fn func(state *apply.State)) error {
	inc := m.running.Load()
	if inc == nil {
		return fmt.Errorf("member %s: %w", m.cfg.ID, ErrDown)
	}
	inc.machine.mu.Lock()
	defer inc.machine.mu.Unlock()
	fn(inc.machine.state)
	return nil
}

// Inspect is [Member.View] for the whole state machine: alarms, users, sizes.
func (m *Member) Inspect(fn func(state *apply.State)) error {
	inc := m.running.Load()
	if inc == nil {
		return fmt.Errorf("member %s: %w", m.cfg.ID, ErrDown)
	}
	inc.machine.mu.RLock()
	defer inc.machine.mu.RUnlock()
	fn(inc.machine.state)
	return nil
}
