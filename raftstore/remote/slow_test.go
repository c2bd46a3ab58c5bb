package remote

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"kviz/raftstore/member"
	"kviz/raftstore/steady"
)

// A driver that reads nothing keeps nobody waiting: the member goes on, and tells
// later that events were left out, and all that was applied.
func TestADriverThatReadsNothing(t *testing.T) {
	certs := makeCerts(t, "a", Driver)
	p := solo(t, certs, "a")
	p.feed.mu.Lock()
	p.feed.limit = 30
	p.feed.mu.Unlock()
	creds := credentials(t, certs, Driver)
	open := func(r role) *line {
		l, _, err := dial(context.Background(), creds, p.Addr(), hello{Role: r, Driver: "x"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l
	}
	c := newCaller(open(roleDrive))
	go c.listen()
	stream, proposals := open(roleFollow), open(rolePropose)
	ctx := context.Background()
	start := Start{Fresh: true, Group: []member.Server{{ID: "a", Address: "a"}}, Settings: Settings{NoSync: true, SnapshotEvery: 100_000, SnapshotTrailing: 100_000}}
	if _, err := call[Start, none](ctx, c, verbStart, start); err != nil {
		t.Fatal(err)
	}
	look := func() *standing {
		a, err := call[none, about](ctx, c, verbAbout, none{})
		if err != nil {
			t.Fatal(err)
		}
		return &a.Now
	}
	await := func(what string, ok func(*standing) bool) (now *standing) {
		steady.Await(t, what, func() error {
			if now = look(); ok(now) {
				return nil
			}
			return fmt.Errorf("%+v", now.Status)
		})
		return now
	}
	now := await("it leads", func(s *standing) bool { return s.Status.Role == "leader" })
	// Values of 16 KiB fill what the connection holds; then come many small ones.
	const big, small = 1500, 1500
	var batch []proposal
	send := func() {
		if err := proposals.send(&batch); err != nil {
			t.Fatal(err)
		}
		batch = nil
	}
	for i := range big + small {
		value := []byte("v")
		if i < big {
			value = make([]byte, 16<<10)
		}
		b, err := proto.Marshal(&etcdserverpb.InternalRaftRequest{Put: &etcdserverpb.PutRequest{Key: fmt.Appendf(nil, "k%d", i), Value: value}})
		if err != nil {
			t.Fatal(err)
		}
		batch = append(batch, proposal{Term: now.Status.Term, Data: b, Ticket: member.Ticket{Number: uint64(i + 1), Epoch: 1 << 16, Seq: uint64(i)}})
		if i < big || len(batch) == 3 { // few at a time, so that there are many batches
			send()
		}
	}
	if len(batch) > 0 {
		send()
	}
	await("it applied everything, though nobody reads what it tells", func(s *standing) bool { return s.Status.Revision == big+small+1 })
	const looks = 1000
	for range looks {
		p.current().ReportFault(member.Fault{What: "somebody looks", On: true})
	}

	// Now the driver reads, and misses nothing but events.
	copied := member.NewMirror(member.Config{ID: "a", Requests: &member.Requests{}})
	applied, events := 0, 0
	var lost uint64
	for applied < big+small || events+int(lost) < looks {
		r := &report{}
		_ = stream.SetReadDeadline(time.Now().Add(steady.Patience(t)))
		if err := stream.receive(r, maxFrame); err != nil {
			t.Fatal(err)
		}
		lost += r.Lost
		events += len(r.Events)
		if r.Snapshot {
			contents := &body{l: stream}
			if err := copied.Restore(contents, r.UpTo); err != nil {
				t.Fatal(err)
			}
			if err := contents.finish(); err != nil {
				t.Fatal(err)
			}
			number, _ := copied.Ticket()
			applied = int(number)
		}
		done, err := copied.Apply(r.Applied, r.UpTo)
		if err != nil {
			t.Fatal(err)
		}
		applied += len(done)
	}
	t.Logf("%d events were told, %d left out", events, lost)
	if lost < 900 || events > 200 {
		t.Errorf("%d events were kept and %d left out, for a driver that did not read and a queue of 30", events, lost)
	}
	if number, _ := copied.Ticket(); number != big+small {
		t.Errorf("the copy has %d requests, want %d", number, big+small)
	}
}
