package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"reflect"
	"time"

	"github.com/hashicorp/raft"

	"kviz/raftstore/member"
	"kviz/raftstore/wire"
)

// role is what a connection is for.
type role string

const (
	// roleRaft: requests between members, one after another, each answered.
	roleRaft role = "raft"
	// roleWatch: a member tells another whether it runs and its disk takes writes.
	roleWatch role = "watch"
	// roleDrive: the driver's orders and questions, and the answers. While it is
	// open the member is driven.
	roleDrive role = "drive"
	// roleFollow: the member tells the driver what happens.
	roleFollow role = "follow"
	// rolePropose: the driver's proposals, in order, without answers.
	rolePropose role = "propose"
)

// hello is the first frame of a connection, by the side that dialled; readWelcome's
// is the answer.
type hello struct {
	Schema string // what the frames to come look like
	Role   role
	To     string // the member meant, "" if the driver does not know its name
	Driver string // the same for all connections of one driver
	From   uint64 // follow: what the driver's copy has applied; 0: it has none
	// Cluster is that of the member that dials, 0 if it belongs to none yet: members of
	// different clusters do not listen to one another.
	Cluster uint64
}

type welcome struct {
	Schema  string
	Refused string // why the connection is of no use
	Name    string // the member's
}

// rpc is a request of raft's to another process; one of the pointers is set.
type rpc struct {
	Message  wire.Message // without Entries, which the receiver sees itself
	News     bool
	Append   *raft.AppendEntriesRequest
	Vote     *raft.RequestVoteRequest
	PreVote  *raft.RequestPreVoteRequest
	Snapshot *raft.InstallSnapshotRequest // its contents follow the frame
	Timeout  *raft.TimeoutNowRequest
}

// answer is the answer to an rpc.
type answer struct {
	Error    string
	Append   *raft.AppendEntriesResponse
	Vote     *raft.RequestVoteResponse
	PreVote  *raft.RequestPreVoteResponse
	Snapshot *raft.InstallSnapshotResponse
	Timeout  *raft.TimeoutNowResponse
}

// health is what one member tells another: at once when it changes, and every
// watchEvery, so that silence means that the way is broken.
type health struct {
	Incarnation uint64 // which start of the member; 0 while it does not run
	Full        bool   // its disk refuses writes
}

// order is one order or question of the driver's.
type order struct {
	ID   uint64
	Verb string
	Args []byte // the verb's own type
}

// reply ends an order.
type reply struct {
	ID      uint64
	Failure *failure
	Result  []byte // the verb's own type
}

// proposal is a command for the leader's log.
type proposal struct {
	Term   uint64 // in which the member must be leader
	Data   []byte
	Ticket member.Ticket
}

// report is what a member tells its driver, in order: first events, then what
// was applied, then how things stand.
type report struct {
	Lost     uint64 // events that were left out before, because the driver was slow
	Events   []member.Event
	Snapshot bool       // the state follows, in frames of which the last is empty; forget the copy
	Applied  []raft.Log // committed commands
	UpTo     uint64     // the machine has applied up to here
	Now      *standing
}

const (
	dialTimeout = 3 * time.Second
	// helloTimeout is how long a connection may take until it says what for.
	helloTimeout = 10 * time.Second
	// watchEvery is how often a member says that nothing has changed, and
	// watchSilence after how long another takes the way to it for broken. On a
	// machine with no processor to spare seconds may pass.
	watchEvery   = time.Second
	watchSilence = 5 * time.Second
)

var protocol = schema(
	reflect.TypeFor[hello](), reflect.TypeFor[welcome](), reflect.TypeFor[rpc](), reflect.TypeFor[answer](),
	reflect.TypeFor[health](), reflect.TypeFor[order](), reflect.TypeFor[reply](), reflect.TypeFor[proposal](),
	reflect.TypeFor[report](), reflect.TypeFor[failure](), reflect.TypeFor[standing](), reflect.TypeFor[Start](),
	reflect.TypeFor[about](), reflect.TypeFor[linkFault](), reflect.TypeFor[which](), reflect.TypeFor[handover](), reflect.TypeFor[change](),
	reflect.TypeFor[recovery](), reflect.TypeFor[recovered](), reflect.TypeFor[seedPart](), reflect.TypeFor[splitPlan](), reflect.TypeFor[wire.SplitState](),
)

// line is a connection on which frames go.
type line struct {
	*tls.Conn
	in  bytes.Buffer
	out []byte
}

var errFrame = errors.New("the message is too large")

// send writes a value as one frame. One goroutine at a time.
func (l *line) send(v any) error {
	if cap(l.out) > keepFrame {
		l.out = nil
	}
	l.out = frame(l.out[:0], v)
	if len(l.out)-len(frameHeader) > maxFrame {
		return fmt.Errorf("%w: %d bytes; at most %d can be sent", errFrame, len(l.out), maxFrame)
	}
	_, err := l.Write(l.out)
	return err
}

// receive reads one frame into a value. One goroutine at a time.
func (l *line) receive(v any, limit int) error {
	b, err := readFrame(l, &l.in, limit)
	if err != nil {
		return err
	}
	return readValue(b, v)
}

// errRefused is wrapped by what a member answers to a connection that it
// does not want.
var errRefused = errors.New("refused")

// dial opens a connection and says what for. The other side's certificate must
// be a member's; its name is the welcome's.
func dial(ctx context.Context, creds *Credentials, addr string, h hello) (*line, string, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	d := tls.Dialer{NetDialer: &net.Dialer{KeepAlive: watchEvery}, Config: creds.client()}
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, "", err
	}
	l := &line{Conn: c.(*tls.Conn)}
	name, err := l.greet(h)
	if err != nil {
		l.Close()
		return nil, "", fmt.Errorf("%s: %w", addr, err)
	}
	return l, name, nil
}

func (l *line) greet(h hello) (string, error) {
	name, driver, err := peerName(l.Conn)
	if err != nil {
		return "", err
	}
	if driver || h.To != "" && h.To != name {
		return "", fmt.Errorf("%w: this is member %s, not %s", errRefused, name, h.To)
	}
	h.Schema = protocol
	_ = l.SetDeadline(time.Now().Add(helloTimeout))
	if err := l.send(&h); err != nil {
		return "", err
	}
	var w welcome
	if err := l.receive(&w, maxHello); err != nil {
		return "", err
	}
	switch {
	case w.Refused != "":
		return "", fmt.Errorf("%w: %s", errRefused, w.Refused)
	case w.Name != name:
		return "", fmt.Errorf("%w: member %s has the certificate of %s", errRefused, w.Name, name)
	}
	return name, l.SetDeadline(time.Time{})
}

// accept reads what a connection is for and answers it. refuse gives the reason
// not to take it.
func (l *line) accept(name string, refuse func(h *hello, from string, driver bool) error) (h hello, from string, err error) {
	_ = l.SetDeadline(time.Now().Add(helloTimeout))
	if err := l.Handshake(); err != nil {
		return h, "", err
	}
	from, driver, err := peerName(l.Conn)
	if err != nil {
		return h, "", err
	}
	if err := l.receive(&h, maxHello); err != nil {
		return h, from, err
	}
	switch {
	case h.Schema != protocol:
		err = errors.New("the two programs are of different versions; use the same kviz on every machine")
	case h.To != "" && h.To != name:
		err = fmt.Errorf("this is member %s, not %s", name, h.To)
	default:
		err = refuse(&h, from, driver)
	}
	w := welcome{Schema: protocol, Name: name}
	if err != nil {
		w.Refused = err.Error()
	}
	if sendErr := l.send(&w); err == nil {
		err = sendErr
	}
	if err == nil {
		err = l.SetDeadline(time.Time{})
	}
	return h, from, err
}
