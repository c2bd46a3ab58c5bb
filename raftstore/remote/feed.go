package remote

import (
	"bufio"
	"errors"
	"sync"
	"time"

	"kviz/raftstore/member"
	"kviz/raftstore/wire"
)

// feed is what the member has to tell its driver: a queue of events, and how far
// the machine has applied the log. What was applied is not queued: it is in the log,
// and is read from there at the driver's pace; if the log does not reach back far
// enough any more, the driver gets the state instead. So a driver that is slow
// or away costs the member nothing but the events it misses.
type feed struct {
	limit    int // how many events wait at most
	mu       sync.Mutex
	items    []item
	lost     uint64 // events left out since the last item taken
	upTo     uint64 // the machine has applied up to here
	followed bool
	wake     chan struct{}
}

// item is one of both.
type item struct {
	event   member.Event
	applied uint64
}

// maxItems is the limit.
const maxItems = 1 << 15

func newFeed() *feed { return &feed{limit: maxItems, wake: make(chan struct{}, 1)} }

func (f *feed) poke() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *feed) event(e member.Event) {
	f.mu.Lock()
	switch {
	case !f.followed:
	case len(f.items) >= f.limit:
		f.lost++
	default:
		f.items = append(f.items, item{event: e})
	}
	f.mu.Unlock()
	f.poke()
}

// applied is called by the state machine after each batch.
func (f *feed) applied(_ string, batch []member.Applied) {
	f.mu.Lock()
	f.upTo = batch[len(batch)-1].Index
	if n := len(f.items); f.followed && n > 0 && n < f.limit {
		f.items = append(f.items, item{applied: f.upTo})
	}
	f.mu.Unlock()
	f.poke()
}

// reach notes that the machine will begin as of an entry, whatever it has told: of a
// recovery, or of a new disk. The log does not hold what comes before.
func (f *feed) reach(index uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.upTo = max(f.upTo, index)
}

// follow restarts the queue.
func (f *feed) follow(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.followed, f.items, f.lost = on, nil, 0
}

func (f *feed) take() (items []item, lost uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	items, lost = f.items, f.lost
	f.items, f.lost = nil, 0
	return items, lost
}

// standing is a member's status.
type standing struct {
	Name        string
	HasLog      bool
	Removed     bool // from its group, for good
	Status      member.Status
	Incarnation uint64
	TailTerm    uint64
	TailIndex   uint64
	BootTerm    uint64
	Servers     []member.Server
	Followers   map[string]follower // on a leader
	Links       []linkFault         // as its own network has them
	Held        []held
}

// follower is what a leader knows of another member.
type follower struct {
	Progress wire.Progress
	Silent   time.Duration // since the request whose answer came last; -1: it never answered in this term
}

// linkFault is what is wrong with the way from a member to another.
type linkFault struct {
	From  string
	Fault wire.LinkFault
}

// held is a message that waits; Age instead of a time, because the clocks of
// two machines differ.
type held struct {
	Message wire.Message
	Age     time.Duration
}

// standing looks at everything.
func (p *Process) standing() *standing {
	p.mu.Lock()
	m, why, removed := p.member, p.why, p.memory.Removed
	peers := make([]string, 0, len(p.peers)+1)
	for name := range p.peers {
		peers = append(peers, name)
	}
	p.mu.Unlock()
	s := &standing{Name: p.cfg.Name, Removed: removed}
	s.Held = p.held()
	for _, from := range append(peers, p.cfg.Name) {
		for _, to := range append(peers, p.cfg.Name) {
			if from == to || from != p.cfg.Name && to != p.cfg.Name {
				continue
			}
			if f := p.network.Faults(from, to); f != (wire.LinkFault{To: to}) {
				s.Links = append(s.Links, linkFault{from, f})
			}
		}
	}
	if m == nil {
		s.Status.State.Role, s.Status.State.Reason = "stopped", why
		return s
	}
	s.HasLog, s.Status, s.Incarnation = true, m.Status(), m.Incarnation()
	s.TailTerm, s.TailIndex = m.Tail()
	s.BootTerm, s.Servers = m.BootTerm(), m.Servers()
	if s.Status.Role == "leader" {
		s.Followers = map[string]follower{}
		for _, to := range peers {
			f := follower{Progress: p.network.Progress(p.cfg.Name, to, s.Status.Term), Silent: -1}
			if at := p.network.Contact(p.cfg.Name, to, s.Status.Term); !at.IsZero() {
				f.Silent = time.Since(at)
			}
			s.Followers[to] = f
		}
	}
	return s
}

// held is what the process holds, oldest first.
func (p *Process) held() (list []held) {
	for _, h := range p.network.Held() {
		list = append(list, held{h.Message, time.Since(h.Since)})
	}
	return list
}

// standEvery is how often the driver receives the member's status at least: it
// considers a leader's followers silent after two election timeouts.
const standEvery = member.ElectionTimeout / 2

// follow tells the driver what happens, from what its copy has applied on, until
// one of both goes away.
func (p *Process) follow(s *session, l *line, from uint64) {
	if !s.attach(l) {
		return
	}
	p.feed.follow(true)
	defer p.feed.follow(false)
	t := &teller{p: p, l: l, w: bufio.NewWriterSize(l, 64<<10), at: from, incarnation: 0}
	tick := time.NewTicker(standEvery)
	defer tick.Stop()
	for {
		items, lost := p.feed.take()
		if err := t.tell(items, lost); err != nil {
			return
		}
		select {
		case <-p.feed.wake:
		case <-tick.C:
		case <-s.gone:
			return
		case <-p.ctx.Done():
			return
		}
	}
}

// teller sends to one driver.
type teller struct {
	p           *Process
	l           *line
	w           *bufio.Writer
	at          uint64 // the driver's copy has applied up to here
	incarnation uint64 // of the member that the copy is of
}

// chunkBytes is about how much one report carries.
const chunkBytes = 1 << 20

// tell sends what has happened, then the status.
func (t *teller) tell(items []item, lost uint64) error {
	r := &report{Lost: lost}
	for i := range items {
		if items[i].applied == 0 {
			r.Events = append(r.Events, items[i].event)
			continue
		}
		if err := t.applied(r, items[i].applied); err != nil {
			return err
		}
		r = &report{}
	}
	p := t.p
	p.feed.mu.Lock()
	upTo := p.feed.upTo
	p.feed.mu.Unlock()
	if err := t.applied(r, upTo); err != nil {
		return err
	}
	if err := t.send(&report{Now: p.standing()}); err != nil {
		return err
	}
	return t.w.Flush()
}

func (t *teller) send(r *report) error {
	b := frame(nil, r)
	_, err := t.w.Write(b)
	return err
}

// applied sends the events of r and then what was applied up to an index.
func (t *teller) applied(r *report, upTo uint64) error {
	m := t.p.current()
	if m == nil || !m.Up() {
		return t.sendIfAny(r)
	}
	if m.Incarnation() != t.incarnation {
		// A member that starts goes back to its last snapshot and applies the log
		// again; the driver's copy is ahead of it meanwhile, or is made again.
		t.incarnation = m.Incarnation()
		if t.at == 0 {
			if err := t.snapshot(m, r); err != nil {
				return err
			}
			r = &report{}
		}
	}
	for t.at < upTo {
		logs, next, err := m.Committed(t.at+1, upTo, chunkBytes)
		if errors.Is(err, member.ErrCompacted) {
			if err := t.snapshot(m, r); err != nil {
				return err
			}
			r = &report{}
			continue
		}
		if err != nil {
			return t.sendIfAny(r) // it went down; what follows is sent when it is up
		}
		t.at = next - 1
		r.Applied, r.UpTo = logs, t.at
		if err := t.send(r); err != nil {
			return err
		}
		r = &report{}
	}
	return t.sendIfAny(r)
}

func (t *teller) sendIfAny(r *report) error {
	if len(r.Events) == 0 && r.Lost == 0 {
		return nil
	}
	return t.send(r)
}

// snapshot sends the whole state.
func (t *teller) snapshot(m *member.Member, r *report) error {
	frozen, index, err := m.Freeze()
	if err != nil {
		return t.sendIfAny(r)
	}
	r.Snapshot, r.UpTo = true, index
	if err := t.send(r); err != nil {
		return err
	}
	if err := t.w.Flush(); err != nil {
		return err
	}
	if err := frozen.WriteState(&chunks{t.l}); err != nil {
		return err
	}
	end := []byte{}
	if err := t.l.send(&end); err != nil {
		return err
	}
	t.at = index
	return nil
}

// chunks writes frames of bytes.
type chunks struct{ l *line }

func (c *chunks) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		part := b[:min(len(b), bodyChunk)]
		if err := c.l.send(&part); err != nil {
			return 0, err
		}
		b = b[len(part):]
	}
	return n, nil
}
