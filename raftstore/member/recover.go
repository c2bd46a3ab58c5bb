package member

import (
	"fmt"
	"os"

	"github.com/hashicorp/raft"

	"kviz/raftstore/apply"
	"kviz/raftstore/wire"
)

// Recover makes a member that is down the only one of its group: what is in its log
// counts from now on, committed or not. All other members must be gone for good. The
// terms to come are above term, whatever the member has heard of.
//
// Mirrors etcd --force-new-cluster; hashicorp/raft RecoverCluster.
func (m *Member) Recover(term uint64) error {
	return m.offline("recovery", func() (err error) {
		inc := &incarnation{m: m, failed: make(chan string, 1), stopped: make(chan struct{})}
		snapshots, err := openSnapshots(inc)
		if err != nil {
			return err
		}
		d, err := openDisk(inc, false, snapshots.last())
		if err != nil {
			return err
		}
		defer d.close()
		inc.machine = newMachine(inc)
		inc.endpoint = m.cfg.Network.Attach(m.cfg.ID)
		defer inc.endpoint.Close()
		alone := raft.Configuration{Servers: []raft.Server{Server{ID: m.cfg.ID, Address: m.cfg.ID}.raft()}}
		if err := raft.RecoverCluster(m.raftConfig(), inc.machine, d, d, snapshots, inc.endpoint, alone); err != nil {
			return fmt.Errorf("member %s: recovery: %w", m.cfg.ID, err)
		}
		if d.bootTerm < term {
			if err := d.bolt.SetUint64([]byte(keyCurrentTerm), term); err != nil {
				return fmt.Errorf("member %s: recovery: %w", m.cfg.ID, err)
			}
		}
		return snapshots.damage
	})
}

// Seed is what a member's new disk begins with.
type Seed struct {
	State   *apply.Frozen
	Servers []Server // the new group
	// Index and Term are where the new log begins: above all that were.
	Index, Term uint64
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
