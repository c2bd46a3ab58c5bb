package remote

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"kviz/raftstore/apply"
	"kviz/raftstore/member"
	"kviz/raftstore/wire"
)

// Config says which members a [Group] drives, and whom it tells what.
type Config struct {
	// Addrs are the members' processes, host:port. Each tells its name.
	Addrs       []string
	Credentials *Credentials // a driver's
	// Settings are for members that are started for the first time.
	Settings Settings

	// Emit, Applied and Changed are as in member.Config. Applied's batch comes from
	// the copy of the member's state machine.
	Emit    func(member.Event)
	Applied func(id string, batch []member.Applied)
	Changed func()
	// Restored is called, before anything later of that member, that the copy was
	// replaced by a newer one, as of an index: what lies between was not told.
	Restored func(m *Member, index uint64)
	Requests *member.Requests
	Limits   apply.Limits
	Go       func(name string, fn func())
}

// Group is a driver's side of members in other processes.
type Group struct {
	cfg    Config
	driver string // unlike any other driver's name

	mu       sync.Mutex
	members  map[string]*Member
	links    map[[2]string]wire.LinkFault // the faults that shall be
	holding  bool
	released map[which]bool  // let go, and perhaps still in a member's list
	gone     map[string]bool // members that were taken out of the group
	arranged *arrangement    // the election that is to be split; nil if none is
	cluster  uint64          // its ID, for members that join

	ctx  context.Context
	stop context.CancelFunc
}

// openTimeout is how long Open waits for processes that do not answer.
const openTimeout = 4 * time.Second

// Open connects to the processes, takes their members over as they are, and waits
// until it has a copy of each one's state. It fails if one of them is driven by
// somebody else, or if fewer than half of them answer. The caller must Close it,
// which leaves the members running.
func Open(cfg Config) (*Group, error) {
	var id [8]byte
	if _, err := rand.Read(id[:]); err != nil {
		return nil, err
	}
	g := &Group{
		cfg: cfg, driver: hex.EncodeToString(id[:]), members: map[string]*Member{},
		links: map[[2]string]wire.LinkFault{}, released: map[which]bool{}, gone: map[string]bool{}, cluster: FirstCluster,
	}
	g.ctx, g.stop = context.WithCancel(context.Background())
	if err := g.connect(); err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

// found is a process that answered.
type found struct {
	addr  string
	c     *caller
	about about
	err   error
}

func (g *Group) connect() error {
	addrs := slices.Compact(slices.Sorted(slices.Values(g.cfg.Addrs)))
	all := make([]found, len(addrs))
	ctx, cancel := context.WithTimeout(g.ctx, openTimeout)
	defer cancel()
	var wg sync.WaitGroup
	for i, addr := range addrs {
		wg.Add(1)
		g.cfg.Go("connect to "+addr, func() {
			defer wg.Done()
			all[i] = g.find(ctx, addr)
		})
	}
	wg.Wait()
	silent, err := g.enlist(all)
	if err == nil {
		err = g.choose(all)
	}
	if err != nil {
		for _, f := range all {
			if f.c != nil {
				f.c.fail(context.Canceled)
			}
		}
		return err
	}
	g.name(silent, all)
	g.adopt(all)
	for _, m := range g.members {
		c := m.first
		m.first = nil
		g.cfg.Go("way to "+m.id, func() { m.run(c) })
	}
	for _, m := range g.members {
		if m.up.Load() {
			continue
		}
		select {
		case <-m.ready:
		case <-m.lost:
		case <-time.After(openTimeout):
		}
	}
	return nil
}

// find connects to a process, again while it does not answer.
func (g *Group) find(ctx context.Context, addr string) (f found) {
	f.addr = addr
	for {
		var l *line
		if l, _, f.err = dial(ctx, g.cfg.Credentials, addr, hello{Role: roleDrive, Driver: g.driver}); f.err == nil {
			c := newCaller(l)
			g.cfg.Go("replies from "+addr, c.listen)
			g.cfg.Go("ping "+addr, c.ping)
			if f.about, f.err = call[none, about](ctx, c, verbAbout, none{}); f.err == nil {
				f.c = c
				return f
			}
			c.fail(f.err)
		}
		if errors.Is(f.err, errRefused) || strings.Contains(f.err.Error(), "tls:") || strings.Contains(f.err.Error(), "x509:") {
			return f // it will not answer otherwise
		}
		timer := time.NewTimer(100 * time.Millisecond)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return f
		}
	}
}

// enlist makes a member of each process that answered, and gives the addresses
// of the others.
func (g *Group) enlist(all []found) (silent []string, err error) {
	for _, f := range all {
		switch {
		case errors.Is(f.err, errRefused):
			return nil, fmt.Errorf("%s: %w", f.addr, f.err)
		case f.err != nil:
			silent = append(silent, f.addr)
			err = errors.Join(err, fmt.Errorf("%s: %w", f.addr, f.err))
			continue
		}
		name := f.about.Now.Name
		if other := g.members[name]; other != nil {
			return nil, fmt.Errorf("%s and %s are both member %s", other.Addr(), f.addr, name)
		}
		m := g.newMember(name, f.addr)
		m.first = f.c
		m.about = f.about
		g.members[name] = m
	}
	if len(g.members) <= len(all)/2 {
		return nil, fmt.Errorf("%d of %d members answer, which is no quorum: %w", len(g.members), len(all), err)
	}
	return silent, nil
}

// name finds out whose addresses those are where nobody answers: the other
// members remember.
func (g *Group) name(silent []string, all []found) {
	for _, f := range all {
		for name, addr := range f.about.Peers {
			if g.members[name] == nil && slices.Contains(silent, addr) {
				g.members[name] = g.newMember(name, addr)
			}
		}
	}
}

// adopt takes over the faults that an earlier driver left.
func (g *Group) adopt(all []found) {
	for _, f := range all {
		if f.c == nil {
			continue
		}
		for _, l := range f.about.Now.Links {
			g.links[[2]string{l.From, l.Fault.To}] = l.Fault
		}
		m := g.members[f.about.Now.Name]
		m.slow.Store(int64(f.about.Now.Status.SlowDisk))
		m.full.Store(f.about.Now.Status.FullDisk && !f.about.Now.Status.NoRoom)
	}
}

// Close leaves the members to themselves: they go on.
func (g *Group) Close() {
	g.stop()
	for _, m := range g.list() {
		m.disconnect(context.Canceled)
	}
}

// list are the members by name.
func (g *Group) list() (list []*Member) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(g.members)) {
		list = append(list, g.members[name])
	}
	return list
}

// Members are the members that are known, by name, whether they belong to a group
// or not.
func (g *Group) Members() []*Member { return g.list() }

// Member is one of them, nil if it is not known.
func (g *Group) Member(name string) *Member {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.members[name]
}

// Need is the member of a name. One that is not known yet is looked for at the
// address.
func (g *Group) Need(name, addr string) *Member {
	g.mu.Lock()
	m := g.members[name]
	if m != nil {
		g.mu.Unlock()
		return m
	}
	m = g.newMember(name, addr)
	g.members[name] = m
	g.mu.Unlock()
	g.cfg.Go("way to "+name, func() { m.run(nil) })
	g.introduce()
	return m
}

// Invite finds the member whose process listens at an address, which may be one that
// the group never heard of, and gives its name.
func (g *Group) Invite(addr string) (name string, err error) {
	for _, m := range g.list() {
		if m.Addr() == addr {
			return m.id, nil
		}
	}
	ctx, cancel := context.WithTimeout(g.ctx, openTimeout)
	defer cancel()
	f := g.find(ctx, addr)
	if f.err != nil {
		return "", fmt.Errorf("%s: %w", addr, f.err)
	}
	name = f.about.Now.Name
	g.mu.Lock()
	other := g.members[name]
	if other == nil {
		m := g.newMember(name, addr)
		m.about = f.about
		g.members[name] = m
		g.mu.Unlock()
		g.cfg.Go("way to "+name, func() { m.run(f.c) })
		g.introduce()
		select {
		case <-m.ready:
			return name, nil
		case <-ctx.Done():
			return "", fmt.Errorf("%s: member %s does not tell how it stands: %w", addr, name, ctx.Err())
		}
	}
	g.mu.Unlock()
	f.c.fail(context.Canceled)
	return "", fmt.Errorf("%s: this is member %s, which is at %s", addr, name, other.Addr())
}

// Move says that a member's process is at another address from now on.
func (g *Group) Move(name, addr string) {
	m := g.Member(name)
	if m == nil || m.Addr() == addr {
		return
	}
	m.mu.Lock()
	m.addr = addr
	m.mu.Unlock()
	m.disconnect(errNoConnection)
	g.introduce()
}

// introduce tells every member where the others are.
func (g *Group) introduce() {
	addrs := g.addrs()
	g.Network().each(g.list(), func(m *Member) { _ = do1(m, verbPeers, addrs) }) // one that is away is told when it is back
}

// addrs are the members' addresses by name.
func (g *Group) addrs() map[string]string {
	g.mu.Lock()
	defer g.mu.Unlock()
	addrs := map[string]string{}
	for name, m := range g.members {
		addrs[name] = m.Addr()
	}
	return addrs
}
