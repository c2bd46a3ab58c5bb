package storage

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Group is the members as a client finds them behind their client URLs.
type Group interface {
	// Standing is how a request fares that enters at a member now: whether it is up,
	// so that it takes connections, and whether it reaches the leader, to which a
	// follower passes on what it is asked (a learner refuses). It may be asked at
	// every request.
	Standing(member string) (up, reaches, learner bool)
	// Forwarded tells that a member passed a request on: raft's MsgProp or
	// MsgReadIndex.
	Forwarded(member, what string, size int)
}

// Conn is an API server's connection to the store: kube-apiserver's
// --etcd-servers. Until [Conn.SetEndpoints] names members, the store as a whole
// answers, as if every member were named and the leader always found at once.
//
// With endpoints, requests and watches go through one member at a time. A member
// that is down takes no connection, and the next in the list is used at once. One
// that is cut off takes requests and lets them time out; the client goes to the
// next one then. What was asked meanwhile has failed, and its sender gets an error
// (etcd client/v3: an answer with the code Unavailable makes the balancer pick
// another; upstream's picks in turn among all that are connected, so that one
// request in three would fail).
type Conn struct {
	*Client
	client    string // who connects, for the trace
	group     Group
	endpoints []string
	at        int // the one in use
}

// Connect is a connection of the named client.
func (c *Client) Connect(client string) *Conn { return &Conn{Client: c, client: client} }

// Endpoints are the members named, and the one in use; none and "" where the store
// as a whole answers.
func (x *Conn) Endpoints() (all []string, used string) {
	if len(x.endpoints) == 0 {
		return nil, ""
	}
	return slices.Clone(x.endpoints), x.endpoints[x.at]
}

// SetEndpoints has requests go through these members of a group, the first that is
// up to begin with; none: through the store as a whole. The watches are opened
// again.
func (x *Conn) SetEndpoints(t *sim.Task, g Group, members []string) {
	was := x.used()
	x.group, x.endpoints, x.at = g, slices.Clone(members), 0
	reason := "endpoints were named"
	if len(members) == 0 {
		reason = "no endpoints are named: every member is one"
	}
	x.tell(t.Lane(), t.Causes(), was, reason)
	x.leaveDown(t.Lane(), t.Causes())
}

func (x *Conn) used() string {
	if len(x.endpoints) == 0 {
		return ""
	}
	return x.endpoints[x.at]
}

// tell tells which endpoint is used from now on, and opens the watches there.
func (x *Conn) tell(l trace.Lane, causes []trace.ID, was, reason string) {
	id := x.k.Emit(trace.Event{Lane: l, Kind: trace.StoreEndpoint, Causes: known(causes), Payload: &trace.Endpoint{
		Client: x.client, Endpoints: slices.Clone(x.endpoints), From: was, To: x.used(), Reason: reason,
	}})
	for _, w := range slices.Clone(x.watches) {
		if w.conn == x {
			w.reopen("its client went to another endpoint", id)
			w.sync()
		}
	}
}

// next goes to the next endpoint, unless another request has left this one already.
func (x *Conn) next(l trace.Lane, causes []trace.ID, member, reason string) {
	if len(x.endpoints) < 2 || x.used() != member {
		return
	}
	x.at = (x.at + 1) % len(x.endpoints)
	x.tell(l, causes, member, reason)
}

// leaveDown goes on to the first endpoint that takes connections; it reports false
// where none does.
func (x *Conn) leaveDown(l trace.Lane, causes []trace.ID) bool {
	for n := range x.endpoints {
		i := (x.at + n) % len(x.endpoints)
		if up, _, _ := x.group.Standing(x.endpoints[i]); !up {
			continue
		}
		if was := x.used(); n > 0 {
			x.at = i
			x.tell(l, causes, was, "connection refused: member "+was+" is down")
		}
		return true
	}
	return false
}

// Forget makes the lines of a client's watches unknown, whose watches have all ended
// for good.
func (x *Conn) Forget() {
	if _, instance, ok := strings.Cut(x.client, "/"); ok {
		maps.DeleteFunc(x.lines, func(name string, _ *line) bool { return strings.HasPrefix(name, instance+"/") })
	}
}

// look is how often what waits for a member asks how it is.
const look = 100 * time.Millisecond

// enter is the way of a request to the store, through the endpoint in use. It gives
// the member, "" where the store as a whole answers.
func (x *Conn) enter(t *sim.Task, what string, size int) (member string, err error) {
	if len(x.endpoints) == 0 {
		return "", nil
	}
	if !x.leaveDown(t.Lane(), t.Causes()) {
		return "", unavailable(x.used())
	}
	member = x.used()
	if _, _, learner := x.group.Standing(member); learner {
		x.next(t.Lane(), t.Causes(), member, "member "+member+" is a learner, which takes no such requests")
		return "", rpctypes.ErrGRPCNotSupportedForLearner
	}
	if err := x.passage(t, member); err != nil {
		return "", err
	}
	x.group.Forwarded(member, what, size)
	return member, nil
}

// passage waits until a member reaches the leader, as long as etcd's members wait.
func (x *Conn) passage(t *sim.Task, member string) error {
	if member == "" {
		return nil
	}
	for end := t.Elapsed() + x.cost.Timeout; ; t.Sleep(look) {
		up, reaches, _ := x.group.Standing(member)
		switch {
		case reaches:
			return nil
		case !up:
			x.next(t.Lane(), t.Causes(), member, "the connection broke: member "+member+" is down")
			return unavailable(member)
		case t.Elapsed() >= end:
			x.next(t.Lane(), t.Causes(), member, "a request timed out: member "+member+" does not reach the leader")
			return rpctypes.ErrGRPCTimeout
		}
	}
}

// unavailable is what a client says of an endpoint that takes no connection.
func unavailable(member string) error {
	return status.Error(codes.Unavailable, fmt.Sprintf("connection error: dial tcp %s:2379: connect: connection refused", member))
}

// through runs a request through the endpoint in use: there, at the store, and back.
func through[T any](x *Conn, t *sim.Task, op, key, what string, size int, do func() (T, error)) (T, error) {
	var none T
	member, err := x.enter(t, what, size)
	if err != nil {
		x.refused(t, op, key, err)
		return none, rpctypes.Error(err)
	}
	got, err := do()
	if err != nil {
		return none, err
	}
	if err := x.passage(t, member); err != nil { // cut off meanwhile: nobody gets to know
		x.refused(t, op, key, err)
		return none, rpctypes.Error(err)
	}
	return got, nil
}

// Range is [Client.Range] through the endpoint in use.
func (x *Conn) Range(t *sim.Task, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	if len(x.endpoints) == 0 {
		return x.Client.Range(t, r)
	}
	return through(x, t, "range", string(r.Key), "MsgReadIndex", 0, func() (*pb.RangeResponse, error) { return x.Client.Range(t, r) })
}

// Txn is [Client.Txn] through the endpoint in use.
func (x *Conn) Txn(t *sim.Task, r *pb.TxnRequest) (resp *pb.TxnResponse, commit trace.ID, err error) {
	if len(x.endpoints) == 0 {
		return x.Client.Txn(t, r)
	}
	resp, err = through(x, t, "txn", txnKey(r), "MsgProp", proto.Size(r), func() (got *pb.TxnResponse, err error) {
		got, commit, err = x.Client.Txn(t, r)
		return got, err
	})
	return resp, commit, err
}

// Compact is [Client.Compact] through the endpoint in use.
func (x *Conn) Compact(t *sim.Task, rev int64) error {
	if len(x.endpoints) == 0 {
		return x.Client.Compact(t, rev)
	}
	_, err := through(x, t, "compact", "", "MsgProp", 0, func() (struct{}, error) { return struct{}{}, x.Client.Compact(t, rev) })
	return err
}

// Do is [Client.Do] through the endpoint in use.
func (x *Conn) Do(t *sim.Task, op string, req *pb.InternalRaftRequest) (proto.Message, error) {
	if len(x.endpoints) == 0 {
		return x.Client.Do(t, op, req)
	}
	return through(x, t, op, "", "MsgProp", 0, func() (proto.Message, error) { return x.Client.Do(t, op, req) })
}

// Watch is [Client.Watch] through the endpoint in use.
func (x *Conn) Watch(name, prefix string, causes ...trace.ID) *Watch {
	if _, instance, ok := strings.Cut(x.client, "/"); ok {
		name = instance + "/" + name
	}
	return x.watch(x, name, prefix, causes)
}

// cutOff reports whether the watch's endpoint has nothing to tell it.
func (w *Watch) cutOff() bool {
	x := w.conn
	if x == nil || len(x.endpoints) == 0 {
		return false
	}
	_, reaches, _ := x.group.Standing(x.used())
	return !reaches
}

// retry looks again after a while whether the watch's endpoint can tell it
// something, and has its client leave one that is down.
func (w *Watch) retry() {
	turn := w.turn
	w.c.k.After(look, func() {
		if w.turn != turn {
			return
		}
		w.conn.leaveDown(trace.Lane{Component: strings.Split(w.conn.client, "/")[0]}, nil)
		if w.turn == turn {
			w.sync()
		}
	})
}
