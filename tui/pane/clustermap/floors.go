package clustermap

import (
	"fmt"
	"strings"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/motion"
	"kviz/tui/scene"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// A cluster is floors that stand on one another: the store, what the API server writes there,
// what it reads, the Leases of scheduler and controllers, those of the nodes. Without a quorum
// they go one after another, each when its own evidence is there; pods, rules and Services
// stand by themselves.

// Times of the floors.
const (
	waitsLong = time.Second      // from then on a write waits visibly
	stuck     = 2 * time.Second  // from then on writes count as down, though none was refused yet
	counted   = 10 * time.Second // refusals of so long are counted

	// renewDeadline is how long who leads may go on without renewing its Lease
	// (k8s.io/component-base/config/v1alpha1 RecommendedDefaultLeaderElectionConfiguration).
	renewDeadline = 10 * time.Second
)

// floors is how far they have fallen.
type floors struct {
	quorum  view.Quorum
	store   bool // it has no quorum
	since   time.Duration
	writes  bool
	refused int // requests that the store did not answer in the last ten seconds
	reads   bool
	leases  map[string]bool          // by process: it lost its Lease, and has not got it again
	nodes   int                      // whose Leases nobody can renew
	waits   map[string]time.Duration // by place: how long its oldest request has been inside
	times   map[string]bool          // by place: it was told that its time is over
}

// floorsOf looks at each floor's own evidence.
func floorsOf(s *view.State) floors {
	f := floors{quorum: s.Reach(), leases: map[string]bool{}, waits: map[string]time.Duration{}, times: map[string]bool{}}
	f.store = f.quorum.Total > 0 && !f.quorum.OK()
	for process, lease := range map[string]string{trace.CompKCM: "kube-controller-manager", trace.CompScheduler: "kube-scheduler"} {
		l := s.Lease(lease)
		f.leases[process] = l != nil && l.Holder == "" && l.Previous != ""
	}
	if !f.store {
		return f
	}
	f.since = lostAt(s)
	for _, r := range s.Store.Refused {
		if r.At < f.since {
			continue
		}
		f.writes = f.writes || r.Op == "txn"
		f.reads = f.reads || r.Op != "txn"
		if s.At-r.At <= counted {
			f.refused++
		}
	}
	for _, r := range s.ActiveRequests() {
		if r.Request == nil || r.Verb == "watch" || r.Reached != trace.StageStorage {
			continue
		}
		took := s.At - r.At
		place := motion.ClientPlace(r.Client, s)
		f.waits[place] = max(f.waits[place], took)
		f.writes = f.writes || took > stuck && changes(r)
	}
	for _, r := range s.Requests() {
		if r.Request != nil && r.Code >= 500 && r.At+r.Took >= f.since && s.At-(r.At+r.Took) <= counted {
			f.times[motion.ClientPlace(r.Client, s)] = true
		}
	}
	for _, n := range s.Nodes() {
		if age, ok := leaseAge(s, n.Name); ok && age >= late {
			f.nodes++
		}
	}
	return f
}

func changes(r *view.Request) bool { return r.Verb != "get" && r.Verb != "list" && r.Verb != "watch" }

// lostAt is when the quorum was lost: with the last member that went, or was cut off.
func lostAt(s *view.State) time.Duration {
	var at time.Duration
	for _, m := range s.Store.Members() {
		if !m.Up {
			at = max(at, m.Since)
		}
		for _, f := range s.FaultsOn("member/" + m.Name) {
			at = max(at, f.Since)
		}
	}
	for _, f := range s.FaultsOn("store") {
		at = max(at, f.Since)
	}
	return at
}

// leaseAge is how long ago a node renewed its Lease.
func leaseAge(s *view.State, node string) (age time.Duration, ok bool) {
	lease := s.Object("leases", "kube-node-lease", node)
	if lease == nil {
		return 0, false
	}
	return s.At - lease.At, true
}

// deadline is how long a process of the control plane may go on without renewing its Lease.
func deadline(s *view.State, lease string) (left time.Duration, ok bool) {
	o := s.Object("leases", "kube-system", lease)
	if o == nil {
		return 0, false
	}
	return max(o.At+renewDeadline-s.At, 0), true
}

// lease says how a process stands that only works while it holds a Lease: that it has lost it,
// or how long it still may work; "" as long as nothing is wrong.
func (p *picture) lease(process, lease string) (text string, st grid.Style) {
	if p.floors.leases[process] {
		if p.Form == scene.Small {
			return "no Lease", theme.Bad
		}
		return "lost its Lease", theme.Bad
	}
	if left, ok := deadline(p.f.S, lease); ok && p.floors.store {
		if p.Form == scene.Small {
			return "Lease " + words.Dur(left.Truncate(time.Second)), theme.Warn
		}
		return "its Lease: " + words.Dur(left.Truncate(time.Second)) + " left", theme.Warn
	}
	return "", 0
}

// fallen marks the ways on which somebody waits for a store without a quorum.
func (p *picture) fallen() {
	if !p.floors.store {
		return
	}
	for i, e := range p.Edges {
		l := &p.Lines[i]
		switch {
		case e.Class == scene.Writes && l.Light != scene.Hidden:
			l.Label, l.Note = "put ✗", theme.Bad|grid.Bold
			if p.Form == scene.Small {
				l.Label = "✗"
			}
			if p.floors.refused > 0 {
				l.Label += fmt.Sprint(p.floors.refused)
			}
			if p.floors.writes {
				l.Light, l.Role = scene.Refused, theme.Bad
			}
		case e.Class == scene.Asks && p.floors.times[e.From]:
			if l.Label, l.Note = "times out", theme.Bad|grid.Bold; p.Form == scene.Small {
				l.Label = "✗ 504"
			}
		case e.Class == scene.Asks && p.floors.waits[e.From] >= waitsLong:
			if l.Label, l.Note = "waits", theme.Warn|grid.Bold; p.Form == scene.Full {
				l.Label += " " + words.Dur(p.floors.waits[e.From].Truncate(100*time.Millisecond))
			}
		}
	}
}

// drawFloors says in a row, in the order in which they fall, which floors have fallen and which
// stand.
func (p *picture) drawFloors(a grid.Area) {
	f := p.floors
	wide := a.W() >= 110
	name := func(long, short string) string {
		if wide {
			return long
		}
		return short
	}
	x := 0
	for _, floor := range []struct {
		down       bool
		mark, name string
	}{
		{true, "✗", name("store "+words.Dur((p.f.S.At-f.since).Truncate(time.Second)), "store")},
		{f.writes, "✗", "writes"},
		{f.reads, "✗", name("quorum reads", "reads")},
		{f.leases[trace.CompScheduler], "✗", name("scheduler", "sched")},
		{f.leases[trace.CompKCM], "✗", name("controllers", "ctl")},
		{f.nodes > 0, "◑", name("nodes' Leases", "Leases")},
		{false, "", "Pods"},
		{false, "", "rules"},
		{false, "", "Services"},
	} {
		st := theme.Bad | grid.Bold
		if !floor.down {
			floor.mark, st = "●", theme.Good
		}
		x = a.Text(x, 0, floor.mark+" "+floor.name, st) + len(name("  ", " "))
	}
}

// dotsOf are a mark for each member: who belongs to the quorum, or could, and who does not.
func dotsOf(q view.Quorum) string {
	return strings.Repeat("●", q.Have) + strings.Repeat("○", max(q.Total-q.Have, 0))
}
