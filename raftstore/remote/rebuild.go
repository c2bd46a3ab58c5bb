package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"kviz/raftstore/member"
)

// The driver's side of disks.go.

// diskTimeout is how long an order may take that rewrites a disk.
const diskTimeout = 2 * time.Minute

// Corrupt damages the log file of the member, which must be down.
func (m *Member) Corrupt(what member.Damage) error {
	if err := do2(m, verbCorrupt, what, diskTimeout); err != nil {
		return err
	}
	return m.awaitReason()
}

// Recover makes the member, which must be down, the only one of its group; see
// member.Member. What its log holds beyond the copy is delivered before Recover returns.
func (m *Member) Recover(term uint64, address string) error {
	ctx, cancel := context.WithTimeout(m.g.ctx, diskTimeout)
	defer cancel()
	c := m.caller()
	got, err := call[recovery, recovered](ctx, c, verbRecover, recovery{term, address, m.copy.Index()})
	if err != nil {
		return m.explain(c, err)
	}
	if !got.Whole {
		return nil // the copy is made again when the member starts
	}
	return m.applied(got.Commands, got.UpTo)
}

// Prepare makes a new disk beside the member's folder, which stays as it is.
func (m *Member) Prepare(s member.Seed) error {
	ctx, cancel := context.WithTimeout(m.g.ctx, diskTimeout)
	defer cancel()
	c := m.caller()
	parts := &seedWriter{ctx: ctx, c: c}
	err := parts.send(seedPart{Begin: &seedHead{
		Cluster: s.Cluster, Servers: s.Servers, Index: s.Index, Term: s.Term, Settings: m.g.cfg.Settings,
	}})
	if err == nil {
		_, err = s.State.WriteTo(parts)
	}
	if err == nil {
		err = parts.send(seedPart{End: true})
	}
	return m.explain(c, err)
}

// seedWriter sends a state in parts, each when the last one has arrived.
type seedWriter struct {
	ctx context.Context
	c   *caller
}

func (w *seedWriter) send(p seedPart) error {
	_, err := call[seedPart, none](w.ctx, w.c, verbSeed, p)
	return err
}

func (w *seedWriter) Write(b []byte) (n int, err error) {
	for part := range slices.Chunk(b, chunkBytes) {
		if err := w.send(seedPart{Bytes: part}); err != nil {
			return n, err
		}
		n += len(part)
	}
	return n, nil
}

// Exchange puts the new disks, which are for a cluster, in the place of the members'.
// It is decided when the first member has its: who fails after that gets its disk when
// there is a connection to its process again, or from whoever opens the group next
// ([Group.Cluster]).
func (g *Group) Exchange(names []string, cluster uint64) (decided bool, err error) {
	for _, name := range names {
		m := g.Member(name)
		if m == nil {
			err = errors.Join(err, fmt.Errorf("member %s is not known", name))
		} else if one := do2(m, verbExchange, cluster, diskTimeout); one != nil {
			err = errors.Join(err, one)
		} else {
			decided = true
			g.mu.Lock()
			g.cluster = cluster
			g.mu.Unlock()
		}
		if err != nil && !decided {
			return false, err
		}
	}
	return decided, err
}

// Cluster is the ID of the cluster that the members belong to.
func (g *Group) Cluster() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cluster
}

// choose finds out which cluster the members belong to. Where some of them have new
// disks and the others have only prepared theirs, an exchange was broken off, which
// [Member.join] finishes.
func (g *Group) choose(all []found) error {
	of := map[uint64][]about{}
	for _, f := range all {
		if id := f.about.Cluster; id != 0 {
			of[id] = append(of[id], f.about)
		}
	}
	if len(of) == 0 {
		return nil // it is yet to be made
	}
	for id := range of {
		lost := false
		for other, list := range of {
			lost = lost || other != id && slices.ContainsFunc(list, func(a about) bool { return a.Prepared != id })
		}
		if !lost {
			g.cluster = id
			return nil
		}
	}
	return errors.New("the members are of different clusters: name the addresses of one")
}

// join makes sure that a member is of the group's cluster: one that was away when it
// should have got its new disk gets it.
func (m *Member) join(ctx context.Context, c *caller, a about) error {
	cluster := m.g.Cluster()
	if a.Cluster == 0 || a.Cluster == cluster {
		return nil
	}
	if a.Prepared != cluster {
		return fmt.Errorf("member %s is of cluster %x, the group of %x", m.id, a.Cluster, cluster)
	}
	if a.Now.Status.Up {
		if _, err := call[string, none](ctx, c, verbStop, "it gets a new disk"); err != nil {
			return err
		}
	}
	_, err := call[uint64, none](ctx, c, verbExchange, cluster)
	return err
}

// without are the members that the group goes on without.
func (g *Group) without() (list []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for id := range g.gone {
		list = append(list, id)
	}
	slices.Sort(list)
	return list
}
