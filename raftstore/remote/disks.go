package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"

	"kviz/raftstore/apply"
	"kviz/raftstore/durable"
	"kviz/raftstore/member"
)

// What a driver does to the disk of a member that is down: damages it, has the member
// go on alone from it, or puts a new one in its place. A new disk is made beside the
// member's folder first ([Process.takeSeed]) and is put in place by another order,
// when all members have theirs. Who dies between two steps of that finishes it when
// it starts again ([Process.settleFolders]).

// oldSuffix is behind the name of a folder that a new one has taken the place of.
const oldSuffix = ".old"

// corrupt damages the log file of the member.
func (p *Process) corrupt(_ context.Context, what member.Damage) (none, error) {
	return onMember(p, what, (*member.Member).Corrupt)
}

// recovery makes a member go on alone.
type recovery struct {
	Term    uint64 // the terms to come are above it
	Address string // of the member in the new group
	After   uint64 // the driver's copy has applied up to here
}

// recovered is what a member that goes on alone had in its log.
type recovered struct {
	Whole    bool       // Commands are all that the driver's copy has not applied
	Commands []raft.Log // that count now
	UpTo     uint64     // the last entry in the log
}

// maxRecovered is how many bytes of commands are sent in one answer; of more than
// that the driver gets the state when the member starts.
const maxRecovered = 64 << 20

func (p *Process) recover(_ context.Context, r recovery) (out recovered, err error) {
	m, err := p.need()
	if err != nil {
		return out, err
	}
	size := 0
	covered, last, err := m.Recover(member.Recovery{Term: r.Term, Address: r.Address, Entry: func(l *raft.Log) {
		if size += len(l.Data); l.Index > r.After && size <= maxRecovered {
			out.Commands = append(out.Commands, *l)
		}
	}})
	if err != nil {
		return recovered{}, err
	}
	out.UpTo = last
	if out.Whole = covered <= r.After && size <= maxRecovered; !out.Whole {
		out.Commands = nil
	}
	p.feed.reach(last)
	return out, nil
}

// seedPart is a part of the state with which a new disk begins: first what it is,
// then its bytes, then its end.
type seedPart struct {
	Begin *seedHead
	Bytes []byte
	End   bool
}

type seedHead struct {
	Cluster     uint64
	Servers     []member.Server
	Index, Term uint64
	Settings    Settings // of a member that has none
}

// seeding is a state on its way.
type seeding struct {
	head  seedHead
	state *apply.State
	w     *io.PipeWriter
	read  chan error // the end of reading
}

// takeSeed takes a part of a new disk's state; with the last one it makes the disk.
func (p *Process) takeSeed(_ context.Context, part seedPart) (none, error) {
	if part.Begin != nil {
		r, w := io.Pipe()
		p.mu.Lock()
		s := &seeding{head: *part.Begin, state: apply.New(p.limits()), w: w, read: make(chan error, 1)}
		p.mu.Unlock()
		p.spawn("state of a new disk", func() {
			err := s.state.Restore(r)
			_ = r.CloseWithError(err) // so that whoever writes hears of it
			s.read <- err
		})
		p.dropSeed(s)
	}
	p.mu.Lock()
	s := p.seeding
	p.mu.Unlock()
	if s == nil {
		return none{}, errors.New("a part of a new disk without its beginning")
	}
	if len(part.Bytes) > 0 {
		if _, err := s.w.Write(part.Bytes); err != nil {
			return none{}, fmt.Errorf("the state of a new disk: %w", err)
		}
	}
	if !part.End {
		return none{}, nil
	}
	s.w.Close()
	err := <-s.read
	p.dropSeed(nil)
	if err != nil {
		return none{}, fmt.Errorf("the state of a new disk: %w", err)
	}
	return none{}, p.prepare(s)
}

// dropSeed gives up a state that is on its way, for another one or none.
func (p *Process) dropSeed(next *seeding) {
	p.mu.Lock()
	old := p.seeding
	p.seeding = next
	p.mu.Unlock()
	if old != nil {
		_ = old.w.CloseWithError(errors.New("it was given up"))
	}
}

// prepare makes a new disk beside the member's folder.
func (p *Process) prepare(s *seeding) error {
	p.mu.Lock()
	m, memory := p.member, p.memory
	memory.Peers = maps.Clone(memory.Peers)
	if m == nil {
		m = p.newMember(nil)
		memory.Settings = s.head.Settings
	}
	p.mu.Unlock()
	if err := os.RemoveAll(p.cfg.Dir + member.NewSuffix); err != nil {
		return err
	}
	err := m.Prepare(member.Seed{State: s.state.Snapshot(), Servers: s.head.Servers, Index: s.head.Index, Term: s.head.Term})
	if err != nil {
		return err
	}
	memory.Removed, memory.Cluster, memory.Begins = false, s.head.Cluster, s.head.Index
	return memory.write(p.cfg.Dir + member.NewSuffix) // last: it says that the disk is whole
}

// prepared is the cluster that the new disk beside the member's folder is for, 0 if
// there is none.
func (p *Process) prepared() uint64 {
	var m memory
	if err := m.read(p.cfg.Dir + member.NewSuffix); err != nil {
		return 0 // it is not there, or not whole
	}
	return m.Cluster
}

// exchange puts the new disk, which must be for the cluster, in the place of the
// member's, which must be down.
func (p *Process) exchange(_ context.Context, cluster uint64) (none, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var next memory
	err := next.read(p.cfg.Dir + member.NewSuffix)
	switch {
	case p.memory.cluster() == cluster && errors.Is(err, fs.ErrNotExist):
		return none{}, nil // it was done before, and the answer got lost
	case err != nil:
		return none{}, fmt.Errorf("member %s has no new disk: %w", p.cfg.Name, err)
	case next.Cluster != cluster:
		return none{}, fmt.Errorf("member %s has a new disk for cluster %x, not for %x", p.cfg.Name, next.Cluster, cluster)
	case p.member != nil && p.member.Up():
		return none{}, fmt.Errorf("member %s is running", p.cfg.Name)
	}
	if err := os.Rename(p.cfg.Dir, p.cfg.Dir+oldSuffix); err != nil {
		return none{}, err
	}
	if err := p.settleFolders(); err != nil {
		return none{}, err
	}
	p.memory, p.why = next, ""
	p.feed.reach(next.Begins)
	if p.member == nil {
		p.member = p.newMember(nil)
	}
	p.meet(p.memory.Peers) // it had none any more if it had been taken out
	return none{}, nil
}

// settleFolders finishes an exchange of disks from wherever it was left: the member's
// folder out of the way says that it was decided.
func (p *Process) settleFolders() error {
	dir := p.cfg.Dir
	if _, err := os.Stat(dir + oldSuffix); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := os.Rename(dir+member.NewSuffix, dir); err != nil {
			return err
		}
	}
	// Also where the member itself does without: what it is about to delete is all there
	// was.
	if err := durable.Dir(filepath.Dir(dir)); err != nil {
		return err
	}
	return os.RemoveAll(dir + oldSuffix)
}
