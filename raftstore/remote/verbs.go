package remote

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"kviz/raftstore/member"
	"kviz/raftstore/mvcc"
)

// The orders that a driver can give.
const (
	verbPing   = "ping"   // no answer
	verbCancel = "cancel" // no answer; the order of the same ID is not wanted any more

	verbStart     = "start"
	verbStop      = "stop"
	verbCrash     = "crash"
	verbKill      = "kill"
	verbPeers     = "peers"
	verbCampaign  = "campaign"
	verbTimeOut   = "time out"
	verbSnapshot  = "snapshot"
	verbSlowDisk  = "slow disk"
	verbFillDisk  = "fill disk"
	verbHold      = "hold"
	verbRelease   = "release"
	verbLink      = "link"
	verbReadIndex = "read index"
	verbRange     = "range"
	verbHashKV    = "hash kv"
	verbTransfer  = "transfer"
	verbAbout     = "about"
	verbHeld      = "held"
	verbForget    = "forget"
	verbPace      = "slow elections"
	verbBegan     = "began"
	verbSet       = "set member"
	verbRemove    = "remove member"
	verbErase     = "erase"
	verbServers   = "servers"

	verbDefragment = "defragment"
	verbSettled    = "settled"

	verbCorrupt    = "corrupt"
	verbRecover    = "recover"
	verbSeed       = "seed"
	verbExchange   = "exchange"
	verbSplit      = "split"
	verbShareSplit = "share split"
)

// verb carries out one order and gives its result.
type verb func(p *Process, ctx context.Context, args []byte) ([]byte, error)

var verbs = map[string]verb{
	verbStart: do((*Process).start),
	verbStop: do(func(p *Process, _ context.Context, reason string) (none, error) {
		return onMember(p, reason, (*member.Member).Stop)
	}),
	verbCrash: do(func(p *Process, _ context.Context, reason string) (none, error) {
		return onMember(p, reason, (*member.Member).Crash)
	}),
	verbKill: do(func(p *Process, _ context.Context, reason string) (none, error) {
		return onMember(p, reason, (*member.Member).Kill)
	}),
	verbPeers: do((*Process).introduce),
	verbCampaign: do(func(p *Process, _ context.Context, _ none) (none, error) {
		return quietly(p, (*member.Member).Campaign)
	}),
	verbTimeOut: do(func(p *Process, _ context.Context, _ none) (none, error) {
		return quietly(p, (*member.Member).TimeOut)
	}),
	verbSnapshot:  do((*Process).takeSnapshot),
	verbSlowDisk:  do((*Process).slowDisk),
	verbFillDisk:  do((*Process).fillDisk),
	verbHold:      do((*Process).hold),
	verbRelease:   do((*Process).release),
	verbLink:      do((*Process).setLink),
	verbReadIndex: do((*Process).readIndex),
	verbRange:     do((*Process).rangeKeys),
	verbHashKV:    do((*Process).hashKV),
	verbTransfer:  do((*Process).transfer),
	verbBegan:     do((*Process).began),
	verbSet: do(func(p *Process, _ context.Context, c change) (none, error) {
		return p.leading(c.Term, func(r *member.Reader) error { return r.Set(c.Server) })
	}),
	verbRemove: do(func(p *Process, _ context.Context, c change) (none, error) {
		return p.leading(c.Term, func(r *member.Reader) error { return r.Remove(c.Server.ID) })
	}),
	verbServers: do(func(p *Process, _ context.Context, term uint64) (list []member.Server, err error) {
		_, err = p.leading(term, func(r *member.Reader) error { list = r.Servers(); return nil })
		return list, err
	}),
	verbErase:      do((*Process).erase),
	verbDefragment: do((*Process).defragment),
	verbAbout:      do((*Process).tellAbout),
	verbHeld:       do(func(p *Process, _ context.Context, _ none) ([]held, error) { return p.held(), nil }),
	verbForget:     do((*Process).forget),
	verbCorrupt:    do((*Process).corrupt),
	verbRecover:    do((*Process).recover),
	verbSeed:       do((*Process).takeSeed),
	verbExchange:   do((*Process).exchange),
	verbSplit:      do((*Process).arrange),
	verbShareSplit: do((*Process).shareSplit),
	verbSettled: do(func(p *Process, _ context.Context, term uint64) (settled bool, err error) {
		_, err = p.leading(term, func(r *member.Reader) error { settled = r.Settled(); return nil })
		return settled, err
	}),
	verbPace: do(func(p *Process, _ context.Context, factor int) (none, error) {
		return quietly(p, func(m *member.Member) { m.SlowElections(factor) })
	}),
}

// none is an argument or a result without contents.
type none struct{ _ byte }

func do[A, R any](fn func(*Process, context.Context, A) (R, error)) verb {
	return func(p *Process, ctx context.Context, b []byte) ([]byte, error) {
		var args A
		if err := readValue(b, &args); err != nil {
			return nil, err
		}
		result, err := fn(p, ctx, args)
		if err != nil {
			return nil, err
		}
		return appendValue(nil, &result), nil
	}
}

func (p *Process) need() (*member.Member, error) {
	if m := p.current(); m != nil {
		return m, nil
	}
	return nil, fmt.Errorf("member %s belongs to no group yet: %w", p.cfg.Name, member.ErrDown)
}

func onMember[A any](p *Process, arg A, fn func(*member.Member, A) error) (none, error) {
	m, err := p.need()
	if err != nil {
		return none{}, err
	}
	return none{}, fn(m, arg)
}

func quietly(p *Process, fn func(*member.Member)) (none, error) {
	m, err := p.need()
	if err == nil {
		fn(m)
	}
	return none{}, err
}

// Start says how a member starts.
type Start struct {
	Fresh bool // with a new disk; else its log must be there
	// Group are the voters of a new group; nil for a member that joins one, or
	// has a log.
	Group    []member.Server
	Settings Settings // of a fresh one
	Cluster  uint64   // of a fresh one: the cluster's ID
	Reason   string
}

func (p *Process) start(_ context.Context, s Start) (none, error) {
	there, err := member.Exists(p.cfg.Dir)
	if err != nil {
		return none{}, err
	}
	if s.Fresh && there {
		return none{}, fmt.Errorf("member %s: %s holds a log already", p.cfg.Name, p.cfg.Dir)
	}
	p.mu.Lock()
	if s.Fresh && p.memory.Removed {
		p.mu.Unlock()
		return none{}, errors.New(removed(p.cfg.Name))
	}
	if s.Fresh {
		p.memory.Settings, p.memory.Cluster = s.Settings, s.Cluster
		if err := p.note(); err != nil {
			p.mu.Unlock()
			return none{}, err
		}
	}
	if p.member == nil || s.Fresh && !p.member.Up() {
		p.member = p.newMember(s.Group)
	}
	m := p.member
	p.mu.Unlock()
	return none{}, m.Start(s.Fresh, s.Reason)
}

// introduce tells where the other members are.
func (p *Process) introduce(_ context.Context, addrs map[string]string) (none, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.Copy(p.memory.Peers, addrs)
	delete(p.memory.Peers, p.cfg.Name)
	p.meet(p.memory.Peers)
	return none{}, p.note()
}

func (p *Process) takeSnapshot(context.Context, none) (none, error) {
	m, err := p.need()
	if err != nil {
		return none{}, err
	}
	return none{}, m.Snapshot()
}

func (p *Process) slowDisk(_ context.Context, d time.Duration) (none, error) {
	return quietly(p, func(m *member.Member) { m.SlowDisk(d) })
}

func (p *Process) fillDisk(_ context.Context, full bool) (none, error) {
	defer p.tell()
	return quietly(p, func(m *member.Member) { m.FillDisk(full) })
}

func (p *Process) hold(_ context.Context, on bool) (none, error) {
	p.holdAll(on)
	return none{}, nil
}

// holdAll holds, or lets go, if that is not so already.
func (p *Process) holdAll(on bool) {
	p.mu.Lock()
	was, m := p.holding, p.member
	p.holding = on
	p.mu.Unlock()
	if m != nil && on {
		m.Hold(true)
	}
	p.network.Hold(on)
	if m != nil && !on && was {
		m.Hold(false)
	}
}

// which names a held message.
type which struct {
	Serial uint64
	Answer bool
}

func (p *Process) release(_ context.Context, w which) (bool, error) {
	return p.network.Release(w.Serial, w.Answer), nil
}

// setLink sets every fault of a link at once.
func (p *Process) setLink(_ context.Context, f linkFault) (none, error) {
	if f.From != p.cfg.Name && f.Fault.To != p.cfg.Name {
		return none{}, fmt.Errorf("member %s is at neither end of the link from %s to %s", p.cfg.Name, f.From, f.Fault.To)
	}
	n, to := p.network, f.Fault.To
	n.Cut(f.From, to, f.Fault.Cut)
	n.Delay(f.From, to, f.Fault.Delay)
	n.Drop(f.From, to, f.Fault.Drop)
	n.Duplicate(f.From, to, f.Fault.Duplicate)
	n.Reorder(f.From, to, f.Fault.Reorder)
	return none{}, nil
}

var errNotLeading = fmt.Errorf("%w in that term", member.ErrNotLeader)

// reader is the member as the leader of a term.
func (p *Process) reader(term uint64) (*member.Reader, error) {
	m, err := p.need()
	if err != nil {
		return nil, err
	}
	if r := m.Leader(); r != nil && r.Term() == term {
		return r, nil
	}
	return nil, errNotLeading
}

// readIndex gives the index that the machine has applied when it is fresh enough.
func (p *Process) readIndex(ctx context.Context, term uint64) (none, error) {
	r, err := p.reader(term)
	if err != nil {
		return none{}, err
	}
	return none{}, r.ReadIndex(ctx)
}

func (p *Process) rangeKeys(_ context.Context, req []byte) ([]byte, error) {
	m, err := p.need()
	if err != nil {
		return nil, err
	}
	var r pb.RangeRequest
	if err := proto.Unmarshal(req, &r); err != nil {
		return nil, err
	}
	resp, err := m.Range(&r)
	if err != nil {
		return nil, err
	}
	return proto.Marshal(resp)
}

// KVHash is the answer of etcd's Maintenance.HashKV.
type KVHash struct {
	Hash                                    uint32
	HashRevision, CompactRevision, Revision int64
}

func (p *Process) hashKV(_ context.Context, rev int64) (h KVHash, err error) {
	m, err := p.need()
	if err != nil {
		return h, err
	}
	var hashErr error
	err = m.View(func(kv *mvcc.Store) {
		h = KVHash{HashRevision: rev, CompactRevision: kv.CompactRevision(), Revision: kv.Revision()}
		if rev <= 0 {
			h.HashRevision = h.Revision
		}
		h.Hash, hashErr = kv.HashKV(rev)
	})
	return h, errors.Join(err, hashErr)
}

// change is a change of the group by the leader of a term.
type change struct {
	Term   uint64
	Server member.Server
}

func (p *Process) leading(term uint64, fn func(*member.Reader) error) (none, error) {
	r, err := p.reader(term)
	if err != nil {
		return none{}, err
	}
	return none{}, fn(r)
}

func (p *Process) began(ctx context.Context, term uint64) (none, error) {
	return p.leading(term, func(r *member.Reader) error { return r.Began(ctx) })
}

// erase deletes the member and all it has written. The process stays, and belongs
// to no group.
func (p *Process) erase(_ context.Context, reason string) (none, error) {
	m, err := p.need()
	if err != nil {
		return none{}, err
	}
	if err := m.Erase(reason); err != nil {
		return none{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.member, p.why, p.memory.Removed = nil, reason, true
	for name, r := range p.peers { // they would turn it away
		r.stop()
		delete(p.peers, name)
	}
	if err := os.MkdirAll(p.cfg.Dir, 0o700); err != nil {
		return none{}, err
	}
	return none{}, p.note()
}

func (p *Process) defragment(context.Context, none) (none, error) {
	m, err := p.need()
	if err != nil {
		return none{}, err
	}
	return none{}, m.Defragment(func(inUse int64) <-chan struct{} {
		done := make(chan struct{})
		time.AfterFunc(member.DefragmentTime(inUse), func() { close(done) })
		return done
	})
}

// handover is a leader's term and whom it hands the leadership to.
type handover struct {
	Term uint64
	To   string
}

func (p *Process) tellAbout(context.Context, none) (about, error) {
	a := about{Now: *p.standing()}
	a.Prepared = p.prepared()
	p.mu.Lock()
	defer p.mu.Unlock()
	a.Peers, a.Cluster = maps.Clone(p.memory.Peers), p.cluster()
	return a, nil
}

func (p *Process) transfer(_ context.Context, o handover) (none, error) {
	r, err := p.reader(o.Term)
	if err == nil {
		r.Transfer(o.To)
	}
	return none{}, err
}
