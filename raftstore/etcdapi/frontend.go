package etcdapi

import (
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"kviz/raftstore"
	"kviz/raftstore/metrics"
)

// frontend serves one member's address: gRPC and HTTP.
type frontend struct {
	server  *Server
	member  string
	id      uint64
	port    int    // 0: any free one, the first time
	addr    string // 127.0.0.1:port, once it was open
	numbers *metrics.Member
	calls   calls
	streams streams
	learns  atomic.Bool // the member has no vote, as of the last look

	// shown is the highest revision that was answered here: what the member, had
	// it been the only one asked, must have applied.
	shown   atomic.Int64
	size    sizeGuess // for the quota
	backlog backlog   // what it has to apply

	open   atomic.Pointer[serving] // nil while the member is down
	mu     sync.Mutex              // held while the address is opened and closed
	closed bool
}

// serving is a frontend between its member's start and the next stop.
type serving struct {
	listener net.Listener
	split    *splitter
	grpc     *grpc.Server
	http     *http.Server
	inside   *inside
	done     chan struct{} // closed when it ends
}

func newFrontend(s *Server, member string, port int) *frontend {
	f := &frontend{server: s, member: member, id: raftstore.MemberID(member), port: port, numbers: s.metrics.Member(member)}
	f.numbers.Ask(f.values)
	return f
}

// up reports whether the member runs.
func (f *frontend) up() bool { return f.server.group == nil || f.server.group.Glance(f.member).Up }

func (f *frontend) isOpen() bool { return f.open.Load() != nil }

// follow opens the address if the member runs, and closes it if not.
func (f *frontend) follow() (changed bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	up := f.up() || f.server.cfg.Listen != nil
	switch {
	case f.closed || up == f.isOpen():
		return false, nil
	case !up:
		f.shut()
		return true, nil
	}
	l, err := f.listen()
	if err != nil {
		return false, err
	}
	f.serve(l)
	return true, nil
}

// listen opens the address, the same one every time.
func (f *frontend) listen() (l net.Listener, err error) {
	if listen := f.server.cfg.Listen; listen != nil {
		l, f.addr, err = listen(f.member)
		return l, err
	}
	addr := f.addr
	if addr == "" {
		addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(f.port))
	}
	if l, err = f.server.cfg.open("tcp", addr); err == nil {
		f.addr = l.Addr().String()
	}
	return l, err
}

// close ends the address for good.
func (f *frontend) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if f.isOpen() {
		f.shut()
	}
}

// shut ends every connection, as the end of a process does. Call with mu held.
func (f *frontend) shut() {
	open := f.open.Swap(nil)
	close(open.done)
	// What ends with an error here ends all the same.
	_ = open.listener.Close()
	open.split.close()
	open.inside.close()
	open.grpc.Stop()
	_ = open.http.Close()
}

// leader is whom the member follows, "" if it knows nobody.
func (f *frontend) leader() string {
	if f.server.group == nil {
		return f.member
	}
	return f.server.group.Glance(f.member).Leader
}

func (f *frontend) reaches() bool { return f.server.group == nil || f.server.group.Reaches(f.member) }

// learner reports whether the member has no vote.
func (f *frontend) learner() bool { return f.learns.Load() }

// revision is the newest that the member may tell of.
func (f *frontend) revision() int64 {
	if f.reaches() {
		return f.server.store.Revision()
	}
	return max(f.server.group.RevisionAt(f.member), f.shown.Load())
}

// show notes that an answer contained a revision.
func (f *frontend) show(rev int64) {
	for {
		was := f.shown.Load()
		if rev <= was || f.shown.CompareAndSwap(was, rev) {
			return
		}
	}
}

// stamp makes an answer this member's: in etcd the member that was asked
// answers, whoever leads.
func (f *frontend) stamp(h *pb.ResponseHeader) {
	if h == nil {
		return
	}
	h.ClusterId, h.MemberId = f.server.clusterID(), f.id
	if h.RaftTerm == 0 {
		h.RaftTerm = f.term()
	}
	f.show(h.Revision)
}

func (f *frontend) term() uint64 {
	if f.server.group == nil {
		return 0
	}
	return f.server.group.Glance(f.member).Term
}

func (f *frontend) header(rev int64) *pb.ResponseHeader {
	h := &pb.ResponseHeader{Revision: rev}
	f.stamp(h)
	return h
}

// clusterID is the group's; restoring a backup changes it.
func (s *Server) clusterID() uint64 {
	if c, ok := s.store.(raftstore.Clustered); ok {
		return c.ClusterID()
	}
	return raftstore.ClusterID
}
