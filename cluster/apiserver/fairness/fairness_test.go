package fairness

import (
	"context"
	"fmt"
	"math"
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

	"kviz/raftstore/steady"
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
	clock  *eventclock.Fake
	config fq.QueuingConfig
	set    fq.QueueSet
	demand fq.Integrator
	began  []int // requests, in the order they got their seats
	reqs   map[int]*served
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
	u := &upstream{clock: clock, reqs: map[int]*served{}, demand: fq.NewNamedIntegrator(clock, "level")}
	u.config = fq.QueuingConfig{Name: "level", DesiredNumQueues: queues, HandSize: hand, QueueLengthLimit: length}
	qsc, err := queueset.NewQueueSetFactory(clock).BeginConstruction(u.config,
		metrics.RatioedGaugePair{RequestsWaiting: gauge{}, RequestsExecuting: gauge{}}, gauge{}, u.demand)
	if err != nil {
		t.Fatal(err)
	}
	u.set = qsc.Complete(fq.DispatchingConfig{ConcurrencyLimit: limit, ConcurrencyDenominator: limit})
	return u
}

// resize is what a change of the level's limit does.
func (u *upstream) resize(t *rapid.T, limit int) {
	qsc, err := u.set.BeginConfigChange(u.config)
	if err != nil {
		t.Fatal(err)
	}
	qsc.Complete(fq.DispatchingConfig{ConcurrencyLimit: limit, ConcurrencyDenominator: max(limit, 1)})
	u.serve()
}

func (u *upstream) start(n int, work Work, flow uint64) bool {
	s := &served{running: make(chan struct{}), release: make(chan struct{}), ended: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	queued := false
	note := func(in bool) {
		if queued = true; !in {
			u.began = append(u.began, n)
		}
	}
	s.req, _ = u.set.StartRequest(ctx, &fcrequest.WorkEstimate{InitialSeats: uint64(work.Seats), FinalSeats: uint64(work.Final), AdditionalLatency: work.Latency}, flow, "", "schema", n, n, note)
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

// Whatever comes and goes, whenever, and however the limit changes meanwhile, the
// same requests are rejected, the same get their seats in the same order, and as
// many seats are said to be wanted, as in upstream's queue sets.
func TestQueuesAsUpstream(t *testing.T) {
	steady.Check(t, func(t *rapid.T) {
		queues := rapid.SampledFrom([]int{0, 1, 2, 8, 64}).Draw(t, "queues")
		hand := min(max(queues, 1), rapid.IntRange(1, 4).Draw(t, "hand"))
		length, limit := rapid.IntRange(1, 4).Draw(t, "length"), rapid.IntRange(1, 4).Draw(t, "limit")
		m := &machine{theirs: newUpstream(t, queues, hand, length, limit), ours: &queueSet{held: &held{}}, seats: map[int]*Seat{}}
		defer m.theirs.stop()
		if err := m.ours.configure(0, queues, hand, length); err != nil {
			t.Fatal(err)
		}
		m.ours.resize(0, limit)
		for n := range rapid.IntRange(1, 60).Draw(t, "steps") {
			m.step(t, n)
			m.compare(t)
		}
	})
}

// stop ends what is served.
func (u *upstream) stop() {
	for _, s := range u.reqs {
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
}

// machine is a queue set of ours beside one of upstream's.
type machine struct {
	theirs *upstream
	ours   *queueSet
	now    time.Duration
	began  []int
	seats  map[int]*Seat
}

func (m *machine) in(st state) (all []int) {
	for i, s := range m.seats {
		if s.state == st {
			all = append(all, i)
		}
	}
	slices.Sort(all)
	return all
}

func (m *machine) step(t *rapid.T, n int) {
	sitting, waiting := m.in(sits), m.in(waits)
	switch what := rapid.IntRange(0, 11).Draw(t, "what"); {
	case what < 5:
		m.start(t, n)
	case what < 8 && len(sitting) > 0:
		i := rapid.SampledFrom(sitting).Draw(t, "ends")
		m.seats[i].finish(m.now)
		m.theirs.finish(i)
	case what == 8 && len(waiting) > 0:
		i := rapid.SampledFrom(waiting).Draw(t, "leaves")
		m.seats[i].leave(m.now)
		m.theirs.leave(i)
	case what == 9:
		least := 0 // see start
		for _, i := range waiting {
			least = max(least, m.seats[i].work.Final)
		}
		limit := rapid.IntRange(least, 5).Draw(t, "limit")
		m.ours.resize(m.now, limit)
		m.theirs.resize(t, limit)
	default:
		m.sleep(time.Duration(rapid.IntRange(1, 20_000).Draw(t, "µs")) * time.Microsecond)
	}
}

func (m *machine) start(t *rapid.T, n int) {
	work := Work{Seats: rapid.IntRange(1, 3).Draw(t, "seats")}
	if m.ours.limit > 0 && rapid.Bool().Draw(t, "writes") {
		// No more than there are: upstream, which makes those fewer, then counts the
		// seats that are waited for wrongly.
		work.Final = rapid.IntRange(1, min(3, m.ours.limit)).Draw(t, "final")
		work.Latency = time.Duration(rapid.IntRange(1, 9_000).Draw(t, "latency")) * time.Microsecond
	}
	flow := hash("schema", rapid.SampledFrom([]string{"alice", "bob", "carol"}).Draw(t, "flow"))
	s := &Seat{schema: &Schema{Stats: &Flow{}}, Wake: func() { m.began = append(m.began, n) }}
	got := m.ours.start(m.now, s, work, flow)
	if got {
		m.seats[n] = s
	}
	if got && m.ours.dealt == 0 {
		m.began = append(m.began, n)
	}
	if want := m.theirs.start(n, work, flow); got != want {
		t.Fatalf("request %d is taken in: %v; by upstream: %v", n, got, want)
	}
}

// sleep lets time pass, from one moment at which seats become free to the next.
func (m *machine) sleep(d time.Duration) {
	end := m.now + d
	for {
		at, any := m.ours.held.first()
		if !any || at > end {
			break
		}
		for any && at == m.ours.held.seats[0].at {
			m.ours.held.release()
			_, any = m.ours.held.first()
		}
		m.theirs.clock.SetTime(epoch.Add(at))
		m.theirs.serve()
	}
	m.now = end
	m.theirs.clock.SetTime(epoch.Add(end))
}

func (m *machine) compare(t *rapid.T) {
	ours, theirs := m.ours, m.theirs
	if !slices.Equal(m.began, theirs.began) {
		t.Fatalf("seats are given to %v; by upstream to %v", m.began, theirs.began)
	}
	d := theirs.set.Dump(false)
	if ours.waiting != d.Waiting || ours.served != d.Executing || ours.inUse != d.SeatsInUse || ours.wanted != d.SeatsWaiting || int(ours.counts.Rejected) != d.Rejected {
		t.Fatalf("%d wait, %d are served on %d seats, %d wanted, %d rejected; upstream %+v", ours.waiting, ours.served, ours.inUse, ours.wanted, ours.counts.Rejected, d)
	}
	for i, q := range d.Queues {
		u := ours.queues[i]
		if u.next.String() != q.NextDispatchR || u.length != len(q.Requests) || u.served != q.ExecutingRequests || u.inUse != q.SeatsInUse || u.work.String() != q.QueueSum.TotalWorkSum {
			t.Fatalf("queue %d: %d wait for %v, %d are served on %d seats, next at %s; upstream %+v", i, u.length, u.work, u.served, u.inUse, u.next, q)
		}
	}
	ours.demand.sum(m.now)
	want, got := theirs.demand.GetResults(), ours.demand
	if avg, _ := got.moments.AvgAndStdDev(); got.moments.ElapsedSeconds != want.Duration || got.max != want.Max || want.Duration > 0 && math.Abs(avg-want.Average) > 1e-9 {
		t.Fatalf("the demand is %+v; upstream's %+v", got, want)
	}
}

func noUID() types.UID { return "" }

// The shares of a new cluster, and what becomes of them with fewer seats.
func TestShares(t *testing.T) {
	c := New(0, DefaultConcurrency, noUID)
	limits := func() string {
		var all []string
		for _, l := range c.Levels(0) {
			all = append(all, fmt.Sprintf("%s %d", l.Level, l.Nominal))
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
	c := New(0, DefaultConcurrency, noUID)
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

// level is a priority level of one queue, of which others may have, and which may
// have of others, so many per cent.
func level(name string, shares, lendable, borrowing int32) *flowcontrol.PriorityLevelConfiguration {
	pl := bootstrap.SuggestedPriorityLevelConfigurationWorkloadLow.DeepCopy()
	pl.Name = name
	pl.Spec.Limited.NominalConcurrencyShares, pl.Spec.Limited.LendablePercent, pl.Spec.Limited.BorrowingLimitPercent = &shares, &lendable, &borrowing
	*pl.Spec.Limited.LimitResponse.Queuing = flowcontrol.QueuingConfiguration{Queues: 1, HandSize: 1, QueueLengthLimit: 100}
	return pl
}

// schema sends what a user asks for to a level.
func schema(user, level string) *flowcontrol.FlowSchema {
	fs := bootstrap.SuggestedFlowSchemaGlobalDefault.DeepCopy()
	fs.Name, fs.Spec.PriorityLevelConfiguration.Name, fs.Spec.MatchingPrecedence = user, level, 500
	for i := range fs.Spec.Rules {
		fs.Spec.Rules[i].Subjects = []flowcontrol.Subject{{Kind: flowcontrol.SubjectKindUser, User: &flowcontrol.UserSubject{Name: user}}}
	}
	return fs
}

// tenant has a level of his own, with one seat.
func tenant() *Controller {
	c := New(0, 6, noUID)
	c.Use(0, 6, []*flowcontrol.FlowSchema{schema("alice", "tenant")}, []*flowcontrol.PriorityLevelConfiguration{level("tenant", 1, 0, 0)})
	return c
}

func get(user string) *Digest {
	return &Digest{User: user, Groups: []string{"system:authenticated"}, Verb: "get", Resource: "pods"}
}

// A level that is deleted goes on serving those who are there.
func TestLevelGoes(t *testing.T) {
	c := tenant()
	s := c.Match(get("alice"))
	var one, two Seat
	woken := false
	two.Wake = func() { woken = true }
	if !c.Start(0, s, get("alice"), &one, Work{Seats: 1}) || !c.Start(0, s, get("alice"), &two, Work{Seats: 1}) || one.Waits() || !two.Waits() {
		t.Fatalf("the tenant does not have one seat and a queue: %+v", c.Levels(0))
	}
	c.Use(time.Second, 6, nil, nil)
	if got := c.Match(get("alice")); got.Name != "catch-all" {
		t.Errorf("alice is of %s now", got.Name)
	}
	if st := c.levels["tenant"].State(); !st.Ends {
		t.Errorf("the level does not end: %+v", st)
	}
	one.Finish(2 * time.Second)
	if !woken || two.Waits() {
		t.Error("who waited is not served")
	}
	two.Finish(3 * time.Second)
	if _, there := c.levels["tenant"]; there {
		t.Error("the level stays for ever")
	}
}

// A schema whose level there is no object of matches nothing.
func TestDangling(t *testing.T) {
	c := tenant()
	bob := schema("bob", "nowhere")
	c.Use(0, 6, []*flowcontrol.FlowSchema{schema("alice", "tenant"), bob}, []*flowcontrol.PriorityLevelConfiguration{level("tenant", 1, 0, 0)})
	if got := c.Match(get("bob")); got.Name != "catch-all" || !c.Dangling(bob) {
		t.Errorf("bob is of %s", got.Name)
	}
	c.Use(0, 6, []*flowcontrol.FlowSchema{bob}, []*flowcontrol.PriorityLevelConfiguration{level("nowhere", 1, 0, 0)})
	if got := c.Match(get("bob")); got.Name != "bob" || c.Dangling(bob) {
		t.Errorf("bob is of %s when his level is there", got.Name)
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
	c := New(0, DefaultConcurrency, noUID)
	d := &Digest{User: "system:serviceaccount:kube-system:replicaset-controller", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"}, Verb: "create", Resource: "pods", Namespace: "demo"}
	b.ReportAllocs()
	var seat Seat
	for i := 0; b.Loop(); i++ {
		now := time.Duration(i) * time.Millisecond
		seat = Seat{}
		c.Start(now, c.Match(d), d, &seat, Work{Seats: 1})
		seat.Finish(now + time.Millisecond)
	}
}
