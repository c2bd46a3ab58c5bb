package member

import (
	"errors"
	"fmt"
	"os"

	"github.com/hashicorp/raft"

	"kviz/raftstore/apply"
	"kviz/raftstore/wire"
)

// Recovery says how a member goes on alone.
type Recovery struct {
	Term    uint64 // the terms to come are above it, whatever the member has heard of
	Address string // the member's in its new group
	// Entry, if set, is called with the commands in the log that no snapshot covers.
	Entry func(*raft.Log)
}

// Recover makes a member that is down the only one of its group: what is in its log
// counts from now on, committed or not. All other members must be gone for good. It
// gives the entries that a snapshot covered, and that the new state is as of.
//
// Mirrors etcd --force-new-cluster; hashicorp/raft RecoverCluster.
func (m *Member) Recover(r Recovery) (covered, last uint64, err error) {
	err = m.offline("recovery", func() (err error) {
		inc := &incarnation{m: m, failed: make(chan string, 1), stopped: make(chan struct{}), offline: true}
		snapshots, err := openSnapshots(inc)
		if err != nil {
			return err
		}
		covered = snapshots.last()
		d, err := openDisk(inc, false, covered)
		if err != nil {
			return err
		}
		defer d.close()
		inc.snapshots, inc.machine = snapshots, newMachine(inc)
		inc.endpoint = m.cfg.Network.Attach(m.cfg.ID)
		defer inc.endpoint.Close()
		alone := raft.Configuration{Servers: []raft.Server{Server{ID: m.cfg.ID, Address: r.Address}.raft()}}
		tail, err := d.LastIndex()
		if err != nil {
			return fmt.Errorf("member %s: recovery: %w", m.cfg.ID, err)
		}
		last = max(covered, tail)
		replay := &replay{machine: inc.machine, entry: r.Entry, last: last}
		if err := raft.RecoverCluster(m.raftConfig(), replay, d, d, snapshots, inc.endpoint, alone); err != nil {
			return errors.Join(snapshots.why(), fmt.Errorf("member %s: recovery: %w", m.cfg.ID, err))
		}
		if d.bootTerm < r.Term {
			if err := d.bolt.SetUint64([]byte(keyCurrentTerm), r.Term); err != nil {
				return fmt.Errorf("member %s: recovery: %w", m.cfg.ID, err)
			}
		}
		return nil
	})
	return covered, last, err
}

// replay is the state machine during a recovery.
type replay struct {
	*machine
	entry func(*raft.Log)
	last  uint64 // in the log
}

// Apply applies one entry of the log, in order.
func (r *replay) Apply(l *raft.Log) any {
	if r.entry != nil {
		r.entry(l)
	}
	return r.machine.Apply(l)
}

// Snapshot is of all that is in the log, also where that ends with entries which are
// not the machine's business: nobody can ask for them any more.
func (r *replay) Snapshot() (raft.FSMSnapshot, error) {
	r.mu.Lock()
	r.state.KV.Advance(r.last)
	r.mu.Unlock()
	return r.machine.Snapshot()
}

// Seed is what a member's new disk begins with.
type Seed struct {
	State   *apply.Frozen
	Servers []Server // the new group
	// Index and Term are where the new log begins: above all that were.
	Index, Term uint64
	// Cluster is the ID of the new cluster. The disk does not hold it; who keeps it
	// beside the disk needs it.
	Cluster uint64
}

// NewSuffix is behind the name of a folder with a new disk.
const NewSuffix = ".new"

// NewDir is where [Member.Prepare] makes the new disk.
func (m *Member) NewDir() string { return m.cfg.Dir + NewSuffix }

// Prepare makes a new disk with a state beside the member's folder, which stays as
// it is.
func (m *Member) Prepare(s Seed) error {
	if err := os.RemoveAll(m.NewDir()); err != nil {
		return fmt.Errorf("member %s: %w", m.cfg.ID, err)
	}
	fresh := New(m.cfg)
	fresh.cfg.Dir = m.NewDir()
	fresh.cfg.Emit = nil // it is not a member's life, only a file's
	return fresh.offline("new disk", func() error {
		inc := &incarnation{m: fresh, failed: make(chan string, 1), stopped: make(chan struct{})}
		d, err := openDisk(inc, true, 0)
		if err != nil {
			return err
		}
		defer d.close()
		if err := d.bolt.SetUint64([]byte(keyCurrentTerm), s.Term); err != nil {
			return fmt.Errorf("member %s: new disk: %w", m.cfg.ID, err)
		}
		return fresh.seed(s)
	})
}

// seed writes the snapshot with which the new log begins.
func (m *Member) seed(s Seed) error {
	files, err := raft.NewFileSnapshotStoreWithLogger(m.cfg.Dir, 2, m.cfg.Logger)
	if err != nil {
		return fmt.Errorf("member %s: new disk: %w", m.cfg.ID, err)
	}
	var group raft.Configuration
	for _, sv := range s.Servers {
		group.Servers = append(group.Servers, sv.raft())
	}
	// Names are all that is asked of the transport.
	sink, err := files.Create(raft.SnapshotVersionMax, s.Index, s.Term, group, s.Index, (*wire.Endpoint)(nil))
	if err != nil {
		return fmt.Errorf("member %s: new disk: %w", m.cfg.ID, err)
	}
	if err := (&frozenState{state: s.State}).Persist(sink); err != nil {
		return fmt.Errorf("member %s: new disk: %w", m.cfg.ID, err)
	}
	if err := m.syncDirs(); err != nil { // there is a snapshots folder now
		return fmt.Errorf("member %s: new disk: %w", m.cfg.ID, err)
	}
	return nil
}

// offline does something to the disk of a member that is down, on a goroutine of its
// own: the disk answers a failed write by ending the goroutine.
func (m *Member) offline(what string, do func() error) error {
	m.lifecycle.Lock()
	defer m.lifecycle.Unlock()
	if m.Up() {
		return fmt.Errorf("member %s is running", m.cfg.ID)
	}
	err := fmt.Errorf("member %s: %s: its disk failed", m.cfg.ID, what)
	done := make(chan struct{})
	m.cfg.Go(what+" of "+m.cfg.ID, func() {
		defer close(done)
		err = do()
	})
	<-done
	return err
}
