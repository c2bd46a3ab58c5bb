package remote

import (
	"context"
	"fmt"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/raftstore/apply"
	"kviz/raftstore/member"
)

// Reader is a member in another process as the leader of one term; it has the
// methods of member.Reader.
type Reader struct {
	m    *Member
	c    *caller
	out  *outbox
	term uint64
}

// Leader is the member's leadership, nil if it does not lead.
func (m *Member) Leader() *Reader {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.c == nil || m.now == nil || !m.now.Status.Up || m.now.Status.Role != "leader" {
		return nil
	}
	return &Reader{m: m, c: m.c, out: m.outbox, term: m.now.Status.Term}
}

// Term is the term in which the reader's member is leader.
func (r *Reader) Term() uint64 { return r.term }

// Member is the ID of the reader's member.
func (r *Reader) Member() string { return r.m.id }

// Same reports whether both are the same leadership over the same connection: what
// was on its way on another one is lost.
func (r *Reader) Same(other *Reader) bool {
	return r != nil && other != nil && r.c == other.c && r.term == other.term
}

// Propose gives the leader a command for its log, over the connection. It waits
// while too much is on its way and reports false when the connection is gone. What
// becomes of the command shows when it is applied.
func (r *Reader) Propose(data []byte, t member.Ticket) bool {
	return r.out.put(proposal{Term: r.term, Data: data, Ticket: t})
}

// ReadIndex is member.Reader.ReadIndex in the leader's process.
func (r *Reader) ReadIndex(ctx context.Context) error {
	_, err := call[uint64, none](ctx, r.c, verbReadIndex, r.term)
	return err
}

// Range reads from the leader's state, in its process.
func (r *Reader) Range(req *pb.RangeRequest) (*pb.RangeResponse, error) { return r.m.Range(req) }

// Transfer asks raft to make another member the leader.
func (r *Reader) Transfer(to string) { _ = do1(r.m, verbTransfer, handover{r.term, to}) }

// Began waits until an entry of the leader's own term is committed.
func (r *Reader) Began(ctx context.Context) error {
	_, err := call[uint64, none](ctx, r.c, verbBegan, r.term)
	return r.lost(err)
}

// lost says that the leader is, if that is why there is no answer.
func (r *Reader) lost(err error) error {
	if err == nil {
		return nil
	}
	select {
	case <-r.c.gone:
		return fmt.Errorf("%w: %w", member.ErrLeaderLost, err)
	default:
		return err
	}
}

// Last is the last index in the leader's log, as it told last.
func (r *Reader) Last() uint64 { return r.m.Status().Last }

// Available reports whether the leader's database has room, by the copy.
func (r *Reader) Available(req *pb.InternalRaftRequest) (ok bool) {
	r.m.copy.Inspect(func(st *apply.State) { ok = st.Available(req) })
	return ok
}

// Set adds a member to the group, makes a learner a voter, or changes an address;
// see member.Reader.
func (r *Reader) Set(s member.Server) error {
	_, err := call[change, none](r.m.g.ctx, r.c, verbSet, change{r.term, s})
	return r.lost(err)
}

// Remove takes a member out of the group.
func (r *Reader) Remove(id string) error {
	_, err := call[change, none](r.m.g.ctx, r.c, verbRemove, change{r.term, member.Server{ID: id}})
	return r.lost(err)
}

// Servers asks the leader for the group as it has it; nil if it cannot be asked or
// does not lead in that term any more.
func (r *Reader) Servers() []member.Server {
	list, err := call[uint64, []member.Server](r.m.g.ctx, r.c, verbServers, r.term)
	if err != nil {
		return nil
	}
	return list
}

// Settled reports whether the group as the leader has it is committed; false if it
// cannot be asked.
func (r *Reader) Settled() bool {
	settled, err := call[uint64, bool](r.m.g.ctx, r.c, verbSettled, r.term)
	return err == nil && settled
}

// outbox is what is on its way to be proposed.
type outbox struct {
	l     *line
	mu    sync.Mutex
	some  *sync.Cond // there is something, or room, or it is over
	queue []proposal
	bytes int
	over  bool
}

// maxOutbox is how many bytes may wait.
const maxOutbox = 8 << 20

func newOutbox(l *line) *outbox {
	o := &outbox{l: l}
	o.some = sync.NewCond(&o.mu)
	return o
}

func (o *outbox) put(p proposal) bool {
	if o == nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.bytes > maxOutbox && !o.over {
		o.some.Wait()
	}
	if o.over {
		return false
	}
	o.queue = append(o.queue, p)
	o.bytes += len(p.Data)
	o.some.Broadcast()
	return true
}

// run sends until the connection breaks or the outbox ends.
func (o *outbox) run() {
	defer o.end()
	for {
		o.mu.Lock()
		for len(o.queue) == 0 && !o.over {
			o.some.Wait()
		}
		batch := o.queue
		o.queue, o.bytes = nil, 0
		over := o.over
		o.some.Broadcast()
		o.mu.Unlock()
		if over || o.l.send(&batch) != nil {
			return
		}
	}
}

func (o *outbox) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over = true
	o.some.Broadcast()
}
