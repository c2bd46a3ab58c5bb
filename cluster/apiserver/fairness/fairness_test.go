package fairness

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	flowcontrol "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/testing/eventclock"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	fcrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
	"pgregory.net/rapid"
)

// gauge is a metric that nobody reads.
type gauge struct{}

func (gauge) Set(float64)            {}
func (gauge) Inc()                   {}
func (gauge) Dec()                   {}
func (gauge) Add(float64)            {}
func (gauge) SetToCurrentTime()      {}
func (gauge) SetDenominator(float64) {}

// upstream is a queue set of upstream's whose requests are served until they are
// told to end.
type upstream struct {
	clock *eventclock.Fake
	set   fq.QueueSet
	began []int // requests, in the order they got their seats
	reqs  map[int]*served
}

type served struct {
	req     fq.Request
	cancel  context.CancelFunc
	running chan struct{}
	release chan struct{}
	ended   chan struct{}
}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newUpstream(t *rapid.T, queues, hand, length, limit int) *upstream {
	clock, _ := eventclock.NewFake(epoch, 0, nil)
	qsc, err := queueset.NewQueueSetFactory(clock).BeginConstruction(
		fq.QueuingConfig{Name: "level", DesiredNumQueues: queues, HandSize: hand, QueueLengthLimit: length},
		metrics.RatioedGaugePair{RequestsWaiting: gauge{}, RequestsExecuting: gauge{}}, gauge{}, gauge{})
	if err != nil {
		t.Fatal(err)
	}
	u := &upstream{clock: clock, reqs: map[int]*served{}}
	u.set = qsc.Complete(fq.DispatchingConfig{ConcurrencyLimit: limit, ConcurrencyDenominator: limit})
	return u
}

func (u *upstream) start(n, seats int, flow uint64) bool {
	s := &served{running: make(chan struct{}), release: make(chan struct{}), ended: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	queued := false
	note := func(in bool) {
		if queued = true; !in {
			u.began = append(u.began, n)
		}
	}
	s.req, _ = u.set.StartRequest(ctx, &fcrequest.WorkEstimate{InitialSeats: uint64(seats)}, flow, "", "schema", n, n, note)
	if s.req == nil {
		cancel()
		return false
	}
	if !queued {
		u.began = append(u.began, n)
	}
	u.reqs[n] = s
	u.serve()
	return true
}

// serve has those that got a seat sit on it.
func (u *upstream) serve() {
	for _, n := range u.began {
		s := u.reqs[n]
		if s == nil {
			continue
		}
		select {
		case <-s.running:
			continue
		default:
		}
		go func() {
			defer close(s.ended)
			s.req.Finish(func() { close(s.running); <-s.release })
		}()
		<-s.running
	}
}

func (u *upstream) finish(n int) {
	s := u.reqs[n]
	close(s.release)
	<-s.ended
	s.cancel()
	u.serve()
}

func (u *upstream) leave(n int) {
	s := u.reqs[n]
	s.cancel()
	before := len(u.began)
	s.req.Finish(func() { panic("a request that has left is served") })
	u.began = u.began[:before] // that it left the queue was told like a seat
}

// Whatever comes and goes, whenever, the same requests are rejected, and the same
// get their seats in the same order, as in upstream's queue sets.
func TestQueuesAsUpstream(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		queues := rapid.SampledFrom([]int{0, 1, 2, 8, 64}).Draw(t, "queues")
		hand := min(max(queues, 1), rapid.IntRange(1, 4).Draw(t, "hand"))
		length, limit := rapid.IntRange(1, 4).Draw(t, "length"), rapid.IntRange(1, 4).Draw(t, "limit")
		theirs := newUpstream(t, queues, hand, length, limit)
		defer func() {
			for _, s := range theirs.reqs {
				select {
				case <-s.running:
					select {
					case <-s.release:
					default:
						close(s.release)
					}
					<-s.ended
				default:
				}
				s.cancel()
			}
		}()
		ours := &queueSet{}
		if err := ours.configure(0, queues, hand, length, limit); err != nil {
			t.Fatal(err)
		}
		var now time.Duration
		var began []int
		seats := map[int]*Seat{}
		for n := range rapid.IntRange(1, 60).Draw(t, "steps") {
			var sitting, waiting []int
			for i, s := range seats {
				switch s.state {
				case sits:
					sitting = append(sitting, i)
				case waits:
					waiting = append(waiting, i)
				}
			}
			slices.Sort(sitting)
			slices.Sort(waiting)
			switch what := rapid.IntRange(0, 9).Draw(t, "what"); {
			case what < 5:
				width, flow := rapid.IntRange(1, 3).Draw(t, "seats"), hash("schema", rapid.SampledFrom([]string{"alice", "bob", "carol"}).Draw(t, "flow"))
				s := &Seat{Wake: func() { began = append(began, n) }}
				if queues == 0 {
					s.Wake = nil
				}
				got := ours.start(now, s, width, flow)
				if got && queues == 0 {
					began = append(began, n)
				}
				if got {
					seats[n] = s
				}
				if want := theirs.start(n, width, flow); got != want {
					t.Fatalf("request %d is taken in: %v; by upstream: %v", n, got, want)
				}
			case what < 8 && len(sitting) > 0:
				i := rapid.SampledFrom(sitting).Draw(t, "ends")
				seats[i].Finish(now)
				theirs.finish(i)
			case what == 8 && len(waiting) > 0:
				i := rapid.SampledFrom(waiting).Draw(t, "leaves")
				seats[i].Leave(now)
				theirs.leave(i)
			default:
				now += time.Duration(rapid.IntRange(1, 20_000).Draw(t, "µs")) * time.Microsecond
				theirs.clock.SetTime(epoch.Add(now))
			}
			if !slices.Equal(began, theirs.began) {
				t.Fatalf("seats are given to %v; by upstream to %v", began, theirs.began)
			}
			d := theirs.set.Dump(false)
			if ours.waiting != d.Waiting || ours.served != d.Executing || ours.inUse != d.SeatsInUse || ours.wanted != d.SeatsWaiting || int(ours.counts.Rejected) != d.Rejected {
				t.Fatalf("%d wait, %d are served on %d seats, %d wanted, %d rejected; upstream %+v", ours.waiting, ours.served, ours.inUse, ours.wanted, ours.counts.Rejected, d)
			}
			for i, q := range d.Queues {
				if u := ours.queues[i]; u.next.String() != q.NextDispatchR || u.length != len(q.Requests) {
					t.Fatalf("queue %d: %d wait, next at %s; upstream %d, %s", i, u.length, u.next, len(q.Requests), q.NextDispatchR)
				}
			}
		}
	})
}

func noUID() types.UID { return "" }

// The shares of a new cluster, and what becomes of them with fewer seats.
func TestShares(t *testing.T) {
	c := New(DefaultConcurrency, noUID)
	limits := func() string {
		var all []string
		for _, l := range c.Levels() {
			all = append(all, fmt.Sprintf("%s %d", l.Level, l.Limit))
		}
		return strings.Join(all, ", ")
	}
	// ceil(600 × shares / 245)
	if got, want := limits(), "catch-all 13, exempt 0, global-default 49, leader-election 25, node-high 98, system 74, workload-high 98, workload-low 245"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	schemas, levels := Bootstrap()
	c.Use(0, 10, schemas, levels)
	if got, want := limits(), "catch-all 1, exempt 0, global-default 1, leader-election 1, node-high 2, system 2, workload-high 2, workload-low 5"; got != want {
		t.Errorf("of 10: %s\nwant %s", got, want)
	}
	c.Use(0, 10, nil, nil) // everything was deleted: the mandatory ones are there all the same
	if got, want := limits(), "catch-all 10, exempt 0"; got != want {
		t.Errorf("without objects: %s\nwant %s", got, want)
	}
}

// Which schema of a new cluster requests belong to.
func TestMatch(t *testing.T) {
	c := New(DefaultConcurrency, noUID)
	authenticated := []string{"system:authenticated"}
	sa := func(ns string) []string {
		return []string{"system:serviceaccounts", "system:serviceaccounts:" + ns, "system:authenticated"}
	}
	for _, x := range []struct {
		d    Digest
		want string
	}{
		{Digest{User: "kubernetes-admin", Groups: []string{"system:masters", "system:authenticated"}, Verb: "delete", Resource: "pods", Namespace: "demo"}, "exempt"},
		{Digest{User: "system:anonymous", Groups: []string{"system:unauthenticated"}, Verb: "get", Path: "/healthz/ping"}, "probes"},
		{Digest{User: "system:anonymous", Groups: []string{"system:unauthenticated"}, Verb: "get", Path: "/version"}, "global-default"},
		{Digest{User: "system:kube-scheduler", Groups: authenticated, Verb: "update", Group: "coordination.k8s.io", Resource: "leases", Namespace: "kube-system"}, "system-leader-election"},
		{Digest{User: "system:kube-scheduler", Groups: authenticated, Verb: "watch", Group: "coordination.k8s.io", Resource: "leases", Namespace: "kube-system"}, "kube-scheduler"},
		{Digest{User: "system:kube-scheduler", Groups: authenticated, Verb: "create", Resource: "pods", Subresource: "binding", Namespace: "demo"}, "kube-scheduler"},
		{Digest{User: "system:kube-controller-manager", Groups: authenticated, Verb: "list", Resource: "pods"}, "kube-controller-manager"},
		{Digest{User: "system:node:n", Groups: []string{"system:nodes", "system:authenticated"}, Verb: "patch", Resource: "nodes", Subresource: "status"}, "system-node-high"},
		{Digest{User: "system:node:n", Groups: []string{"system:nodes", "system:authenticated"}, Verb: "update", Group: "coordination.k8s.io", Resource: "leases", Namespace: "kube-node-lease"}, "system-node-high"},
		{Digest{User: "system:node:n", Groups: []string{"system:nodes", "system:authenticated"}, Verb: "get", Resource: "secrets", Namespace: "demo"}, "system-nodes"},
		{Digest{User: "system:serviceaccount:kube-system:replicaset-controller", Groups: sa("kube-system"), Verb: "create", Resource: "pods", Namespace: "demo"}, "kube-system-service-accounts"},
		{Digest{User: "system:serviceaccount:demo:robot", Groups: sa("demo"), Verb: "create", Resource: "pods", Namespace: "demo"}, "service-accounts"},
		{Digest{User: "alice", Groups: authenticated, Verb: "list", Resource: "pods"}, "global-default"},
		{Digest{User: "nobody", Verb: "list", Resource: "pods"}, "catch-all"},
	} {
		if s := c.Match(&x.d); s.Name != x.want {
			t.Errorf("%+v is of %s; want %s", x.d, s.Name, x.want)
		}
	}
	if s := c.schemas[0]; s.Name != "exempt" || c.schemas[len(c.schemas)-1].Name != "catch-all" || len(c.schemas) != len(bootstrap.MandatoryFlowSchemas)+len(bootstrap.SuggestedFlowSchemas) {
		t.Errorf("%d schemas, the first is %s", len(c.schemas), s.Name)
	}
}

// A level that is deleted goes on serving those who are there.
func TestLevelGoes(t *testing.T) {
	c := New(10, noUID)
	s := c.Match(&Digest{User: "alice", Groups: []string{"system:authenticated"}, Verb: "get", Resource: "pods"})
	var one, two Seat
	woken := false
	two.Wake = func() { woken = true }
	d := &Digest{User: "alice"}
	if !c.Start(0, s, d, &one, 1) || !c.Start(0, s, d, &two, 1) || one.Waits() || !two.Waits() {
		t.Fatal("global-default does not have one seat and a queue")
	}
	schemas, levels := Bootstrap()
	gone := func(name string) bool {
		return name == flowcontrol.PriorityLevelConfigurationNameExempt+"-not" || name == "global-default"
	}
	schemas = slices.DeleteFunc(schemas, func(f *flowcontrol.FlowSchema) bool { return gone(f.Name) })
	levels = slices.DeleteFunc(levels, func(p *flowcontrol.PriorityLevelConfiguration) bool { return gone(p.Name) })
	c.Use(time.Second, 10, schemas, levels)
	if got := c.Match(&Digest{User: "alice", Groups: []string{"system:authenticated"}, Verb: "get", Resource: "pods"}); got.Name != "catch-all" {
		t.Errorf("alice is of %s now", got.Name)
	}
	one.Finish(2 * time.Second)
	if !woken || two.Waits() {
		t.Error("who waited is not served")
	}
	two.Finish(3 * time.Second)
	c.Use(4*time.Second, 10, schemas, levels)
	if _, there := c.levels["global-default"]; there {
		t.Error("the level stays for ever")
	}
}

// Retry-After as upstream's tracker has it: doubled while many are rejected.
func TestRetryAfter(t *testing.T) {
	d := newDrops()
	var seen []int64
	for now := int64(1000); now < 1012; now++ {
		for range 20 {
			d.record(now)
		}
		seen = append(seen, d.retryAfter)
	}
	if want := []int64{1, 2, 2, 4, 4, 4, 4, 8, 8, 8, 8, 8}; !slices.Equal(seen, want) {
		t.Errorf("%v; want %v", seen, want)
	}
	for now := int64(1100); now < 1200; now += 10 {
		d.record(now)
	}
	if d.retryAfter != 1 {
		t.Errorf("after a quiet time it is %d", d.retryAfter)
	}
}

func BenchmarkStartFinish(b *testing.B) {
	c := New(DefaultConcurrency, noUID)
	d := &Digest{User: "system:serviceaccount:kube-system:replicaset-controller", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"}, Verb: "create", Resource: "pods", Namespace: "demo"}
	b.ReportAllocs()
	var seat Seat
	for i := 0; b.Loop(); i++ {
		now := time.Duration(i) * time.Millisecond
		seat = Seat{}
		c.Start(now, c.Match(d), d, &seat, 1)
		seat.Finish(now + time.Millisecond)
	}
}
