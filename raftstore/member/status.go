package member

import "time"

// Status is the member's current status. It costs a few atomic loads, and while
// something is committed but not applied yet a look at the log; [Member.Glance] costs
// less.
type Status struct {
	State
	Up       bool
	Revision int64
	SlowDisk time.Duration
	FullDisk bool
	NoRoom   bool // the disk is full, and not on purpose
}

// Status returns the member's status.
func (m *Member) Status() Status {
	var s Status
	s.SlowDisk, s.FullDisk = m.Disk()
	s.NoRoom = m.outOfRoom()
	inc := m.running.Load()
	if inc == nil {
		s.Role, s.Reason = "stopped", m.Why()
		return s
	}
	s.Up, s.State, s.Revision = true, inc.state(), inc.machine.revision()
	return s
}

// Tail is the term and index of the last entry in the log: the higher, the
// better the member's chance in an election.
func (m *Member) Tail() (term, index uint64) {
	inc := m.running.Load()
	if inc == nil {
		return 0, 0
	}
	term, index = inc.disk.tail()
	// A folder that could not be read would not have let the member start.
	list, _ := inc.snapshots.List()
	for _, meta := range list {
		if meta.Index > index {
			term, index = meta.Term, meta.Index
		}
	}
	return term, index
}

// BootTerm is the term that was on the member's disk when it was last started.
func (m *Member) BootTerm() uint64 {
	inc := m.running.Load()
	if inc == nil {
		return 0
	}
	return inc.disk.bootTerm
}
