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

// Times of the floors.
const (
	waitsLong = time.Second      // from then on a write waits visibly
	counted   = 10 * time.Second // for so long it is shown that an answer was refused

	// renewDeadline is how long who leads may go on without renewing its Lease
	// (k8s.io/component-base/config/v1alpha1 RecommendedDefaultLeaderElectionConfiguration).
	renewDeadline = 10 * time.Second
)

// floors is how far the cluster has fallen, and who waits for it.
type floors struct {
	view.Floors
	waits map[string]time.Duration // by place: how long its oldest request has been inside
	times map[string]bool          // by place: it was told that its time is over
}

// floorsOf looks at each floor's own evidence, and at those who ask.
func floorsOf(s *view.State) floors {
	f := floors{Floors: s.Floors(), waits: map[string]time.Duration{}, times: map[string]bool{}}
	if !f.Store {
		return f
	}
	for _, r := range s.ActiveRequests() {
		if r.Request == nil || r.Verb == "watch" || s.Stands(r) != trace.StageStorage {
			continue
		}
		place := motion.ClientPlace(r.Client, s)
		f.waits[place] = max(f.waits[place], s.At-r.At)
	}
	for _, r := range s.Requests() {
		if r.Request != nil && r.Code >= 500 && r.At+r.Took >= f.Since && s.At-(r.At+r.Took) <= counted {
			f.times[motion.ClientPlace(r.Client, s)] = true
		}
	}
	return f
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
	if p.floors.Leases[process] {
		if p.Form == scene.Small {
			return "no Lease", theme.Bad
		}
		return "lost its Lease", theme.Bad
	}
	if left, ok := deadline(p.f.S, lease); ok && p.floors.Store {
		if p.Form == scene.Small {
			return "Lease " + words.Dur(left.Truncate(time.Second)), theme.Warn
		}
		return "its Lease: " + words.Dur(left.Truncate(time.Second)) + " left", theme.Warn
	}
	return "", 0
}

// fallen marks the ways on which somebody waits for a store without a quorum.
func (p *picture) fallen() {
	if !p.floors.Store {
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
			if p.floors.Refused > 0 {
				l.Label += fmt.Sprint(p.floors.Refused)
			}
			if p.floors.Writes {
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

// wholeFloors is the width from which the row of floors has whole names.
const wholeFloors = 74

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
	whole := func(long, short string) string {
		if a.W() >= wholeFloors {
			return long
		}
		return short
	}
	type floor struct {
		down       bool
		mark, name string
	}
	floors := []floor{
		{true, "✗", name("store "+words.Dur((p.f.S.At-f.Since).Truncate(time.Second)), "store")},
		{f.Writes, "✗", "writes"},
		{f.Reads, "✗", name("quorum reads", "reads")},
		{f.Leases[trace.CompScheduler], "✗", whole("scheduler", "sched")},
		{f.Leases[trace.CompKCM], "✗", whole("controllers", "ctl")},
		{f.Nodes > 0, "◑", name("nodes' Leases", "Leases")},
	}
	if wide || a.W() < wholeFloors {
		floors = append(floors, floor{false, "", "Pods"}, floor{false, "", "rules"}, floor{false, "", "Services"})
	} else { // Services are routed by rules
		floors = append(floors, floor{false, "", "Pods Services"})
	}
	x := 0
	for _, floor := range floors {
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
