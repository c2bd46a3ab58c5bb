package remote

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"kviz/raftstore/apply"
	"kviz/raftstore/member"
	"kviz/raftstore/wire"
)

// ProcessConfig says what a [Process] is.
type ProcessConfig struct {
	Name        string
	Listen      string // host:port; port 0 is any free one
	Dir         string // the member's own folder
	Credentials *Credentials
	// Peers are addresses of other members, by name. They go before what the
	// folder remembers; a driver may change them.
	Peers map[string]string
	// Log gets what whoever started the process wants to know.
	Log io.Writer
	// Alarms gets what they should do something about: a full disk.
	Alarms io.Writer
}

// Process is one member in a process of its own: it listens for the other
// members and for a driver.
//
// Locks: mu, then a peer's or the feed's. The member's own are never held over
// one of these.
type Process struct {
	cfg      ProcessConfig
	listener net.Listener
	network  *wire.Network
	feed     *feed

	mu      sync.Mutex
	member  *member.Member // nil until it is known what group it belongs to
	why     string         // it belongs to none
	memory  memory
	peers   map[string]*peer
	session *session // the driver's, nil while there is none
	holding bool
	split   *wire.Split      // the election that the driver has arranged last
	seeding *seeding         // the state of a new disk that is on its way
	lines   map[*line]string // whose they are, "" while that is not known
	closed  bool
	healthy chan struct{} // closed and replaced when health changed

	ctx     context.Context
	stop    context.CancelFunc
	wg      sync.WaitGroup
	printer printer
	failed  atomic.Pointer[error]
}

// Serve listens, and starts the member if its folder holds a log. Without one it
// waits for a driver to say what group it begins or joins. The caller must Close
// it.
func Serve(cfg ProcessConfig) (*Process, error) {
	err := CheckName(cfg.Name)
	if err != nil {
		return nil, err
	}
	if cfg.Dir, err = filepath.Abs(cfg.Dir); err != nil {
		return nil, err
	}
	p := &Process{
		cfg: cfg, why: "it belongs to no group yet", feed: newFeed(), peers: map[string]*peer{}, lines: map[*line]string{},
		healthy: make(chan struct{}),
	}
	if err := p.settleFolders(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, err
	}
	p.printer.spawn = p.spawn
	p.ctx, p.stop = context.WithCancel(context.Background())
	var seed [8]byte
	if _, err := rand.Read(seed[:]); err != nil {
		return nil, err
	}
	p.network = wire.New(wire.Options{
		Observe: p.observe, Go: p.spawn,
		Seed: binary.BigEndian.Uint64(seed[:]),
		// The first letter keeps members apart, the rest one run from another.
		FirstSerial: uint64(cfg.Name[0])<<48 | uint64(binary.BigEndian.Uint16(seed[:]))<<32,
	})
	if err := p.remember(); err != nil {
		return nil, err
	}
	there, err := member.Exists(cfg.Dir)
	if err != nil {
		return nil, err
	}
	if p.listener, err = net.Listen("tcp", cfg.Listen); err != nil {
		return nil, err
	}
	p.meet(p.memory.Peers)
	if there {
		p.member = p.newMember(nil)
		var damaged *member.DiskError
		switch err := p.member.Start(false, "its process started"); {
		case errors.As(err, &damaged):
			// It stays down, and here, so that a driver sees why and can put another in
			// its place.
			p.logf("%v", err)
		case err != nil:
			return nil, errors.Join(err, p.Close())
		}
	}
	p.logf("member %s listens on %s", cfg.Name, p.Addr())
	if p.memory.Removed {
		p.why = removed(cfg.Name)
		p.logf("member %s: %s", cfg.Name, p.why)
	} else if !there {
		p.logf("member %s: %s holds no log; it waits for a driver (kviz serve --members …) to begin or join a group", cfg.Name, cfg.Dir)
	}
	p.spawn("accept", p.accept)
	return p, nil
}

func removed(name string) string {
	return "member " + name + " was taken out of its group; a new member needs a new name and an empty folder"
}

// Addr is where the process listens.
func (p *Process) Addr() string { return p.listener.Addr().String() }

// Failed is why the process stopped listening by itself, nil if it did not.
func (p *Process) Failed() error {
	if err := p.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// Done is closed when the process does not listen any more.
func (p *Process) Done() <-chan struct{} { return p.ctx.Done() }

func (p *Process) logf(format string, args ...any) {
	p.printer.print(p.cfg.Log, fmt.Sprintf(format, args...))
}

// newMember is the member, not started; group is nil unless it begins a new one.
func (p *Process) newMember(group []member.Server) *member.Member {
	s := p.memory.Settings
	m := member.New(member.Config{
		ID: p.cfg.Name, Peers: group, Dir: p.cfg.Dir, Network: p.network, NoSync: s.NoSync,
		SnapshotEvery: s.SnapshotEvery, SnapshotTrailing: s.SnapshotTrailing,
		Limits:   p.limits(),
		Emit:     p.event,
		Applied:  p.feed.applied,
		Changed:  p.tell,
		Requests: &member.Requests{},
		ComeBack: p.comeBack,
		Closing:  p.ctx.Done(),
		Go:       p.spawn,
	})
	m.Hold(p.holding)
	return m
}

// event is called with what happens at the member.
func (p *Process) event(e member.Event) {
	p.feed.event(e)
	if e.Kind == member.KindRoom && p.cfg.Alarms != nil {
		p.printer.print(p.cfg.Alarms, e.Alarm())
	}
	if e.Kind == member.KindUp && e.State.Recovered != "" {
		p.logf("member %s recovered %s", p.cfg.Name, e.State.Recovered)
	}
}

// comeBack starts the member, which went down because its disk was full.
func (p *Process) comeBack(string) {
	p.spawn("return of the member", func() {
		p.mu.Lock()
		m, closed := p.member, p.closed
		p.mu.Unlock()
		if m == nil || closed {
			return
		}
		_ = m.Start(false, member.RoomAgain) // why it could not is its reason for being down
		p.mu.Lock()
		closed = p.closed
		p.mu.Unlock()
		if closed && m.Up() {
			_ = m.Stop("its process was asked to end") // Close may have stopped it already
		}
	})
}

// limits are the state machine's. The quota is the driver's business: its copies say
// what exceeds it. Call with mu held.
func (p *Process) limits() apply.Limits {
	return apply.Limits{Quota: -1, BcryptCost: p.memory.Settings.BcryptCost, AuthToken: p.memory.Settings.AuthToken}
}

// meet takes in the addresses of other members.
func (p *Process) meet(addrs map[string]string) {
	if p.memory.Removed {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(addrs)) {
		if name == p.cfg.Name || !nameForm.MatchString(name) || slices.Contains(p.memory.Gone, name) {
			continue
		}
		r := p.peers[name]
		if r == nil {
			ctx, stop := context.WithCancel(p.ctx)
			r = &peer{p: p, name: name, addr: addrs[name], stop: stop, moved: make(chan struct{}), lines: map[*line]bool{}}
			p.peers[name] = r
			p.spawn("way to "+name, func() { r.run(ctx) })
		}
		r.move(addrs[name])
	}
}

// forget takes another member off the network for good: what it says is refused from
// now on, also after this process has restarted.
//
// Mirrors etcd server/etcdserver/server.go Process, which refuses messages of removed
// members.
func (p *Process) forget(_ context.Context, id string) (none, error) {
	p.network.Forget(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	if id == p.cfg.Name || slices.Contains(p.memory.Gone, id) {
		return none{}, nil
	}
	if r := p.peers[id]; r != nil {
		r.stop()
		delete(p.peers, id)
	}
	for l, from := range p.lines {
		if from == id {
			l.Close()
		}
	}
	delete(p.memory.Peers, id)
	p.memory.Gone = append(p.memory.Gone, id)
	return none{}, p.note()
}

// current is the member, nil if it is not known yet what group it belongs to.
func (p *Process) current() *member.Member {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.member
}

// observe turns what the network tells into events of the member.
func (p *Process) observe(phase wire.Phase, m wire.Message) {
	at := m.From
	if phase == wire.Delivered {
		at = m.To
	}
	if me := p.current(); me != nil && at == p.cfg.Name {
		me.Report(phase, m)
	}
	p.feed.poke()
}

// tell makes watchers look at the member's health again: its role or term
// changed, it went up or down, or its disk is full. Never call the member with
// mu held: it calls this.
func (p *Process) tell() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.healthy)
	p.healthy = make(chan struct{})
	p.feed.poke()
}

// health is what other members learn.
func (p *Process) health() (h health, changed <-chan struct{}) {
	p.mu.Lock()
	m := p.member
	changed = p.healthy
	p.mu.Unlock()
	if m != nil {
		_, h.Full = m.Disk()
		h.Incarnation = m.Incarnation()
	}
	return h, changed
}

func (p *Process) spawn(_ string, fn func()) {
	p.wg.Add(1)
	go func() {
		defer p.wg.Done()
		fn()
	}()
}

// Close stops the member in good order, and everything else.
func (p *Process) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	m := p.member
	p.mu.Unlock()
	if m != nil && m.Up() {
		// Down by itself meanwhile is just as well.
		_ = m.Stop("its process was asked to end")
	}
	p.stop()
	err := p.listener.Close()
	p.mu.Lock()
	for l := range p.lines {
		l.Close()
	}
	p.mu.Unlock()
	p.feed.poke()
	p.wg.Wait()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	return err
}
