package motion

import (
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/scene"
	"kviz/tui/theme"
)

// Class is the kind of a light; the player counts several of one class on one edge
// together.
type Class uint8

// The classes.
const (
	Asks      Class = iota // somebody asks
	Answers                // somebody is answered
	Tells                  // somebody is told of a change
	Entries                // log entries, and their acknowledgement
	Ballots                // would you vote, vote, and the votes
	Packets                // on the network of the pods
	Chatter                // routine
	Works                  // in a place, not on an edge
	Faults                 // something was broken or mended
	Undecided              // a term of the members ends without a winner
)

// Rank says which lights are kept when there are too many, and which one is emphasised.
type Rank uint8

// The ranks, lowest first.
const (
	Routine Rank = iota
	News
	Write
	Fault
	Command
	Path
	Step
)

// Light is what an event makes on the picture: a thing on its way from one place to
// another, or, without To, a place that lights up.
type Light struct {
	From, To string
	Class    Class
	Rank     Rank
	Glyph    rune
	Role     grid.Style
	Label    string
	Lost     bool // it does not arrive, or is refused: it becomes ✗
	Half     bool // it is lost halfway
	Chip     bool
}

// quiet reports whether an event is of the chatter that never ends: renewals of Leases,
// the writing of Kubernetes Events.
func quiet(e *trace.Event) bool {
	return (e.Object.Kind == "Lease" || e.Object.Kind == "Event") && e.Kind != trace.LeaderElected && e.Kind != trace.EventRecorded
}

// Of is the light that an event makes, seen from a state at or after it.
func Of(e *trace.Event, s *view.State) (Light, bool) {
	r, known := rules[e.Kind]
	if !known || r.light == nil {
		return Light{}, false
	}
	l, ok := r.light(e, s)
	if !ok || l.From == "" {
		return Light{}, false
	}
	if l.To == "" && l.Class == Asks {
		l.Class = Works
	}
	if l.Rank == 0 {
		l.Rank = News
		if quiet(e) {
			l.Rank = Routine
		}
	}
	if l.Class == Chatter || quiet(e) && !l.Lost && e.Kind != trace.StoreRefused {
		l.Rank, l.Chip, l.Label = Routine, false, ""
		if l.To != "" {
			l.Glyph, l.Role = '·', theme.Muted
		}
	}
	return l, true
}

// PlaceOf is the place of a lane; "" for one that nobody knows.
func PlaceOf(l trace.Lane, s *view.State) string {
	switch l.Component {
	case trace.CompMember:
		return "member/" + l.Instance
	case trace.CompKubelet, trace.CompRuntime, trace.CompProxy, trace.CompNet:
		return "node/" + l.Instance
	case trace.CompStore:
		return scene.Store
	case trace.CompPod:
		if p := s.NodePod(l.Instance); p != nil && p.Node != "" {
			return "node/" + p.Node
		}
		return ""
	case trace.CompConsole, trace.CompClient:
		return scene.You
	}
	return process(l.Component)
}

// process is the place of a process by its name.
func process(name string) string {
	switch name {
	case trace.CompAPIServer:
		return scene.APIServer
	case trace.CompScheduler:
		return scene.Scheduler
	case trace.CompKCM, trace.CompCCM, trace.CompDNS, "kcm":
		return scene.Controllers
	}
	if strings.HasSuffix(name, "-controller") || strings.HasPrefix(name, "csi-") {
		return scene.Controllers
	}
	return ""
}

// ClientPlace is the place of who sent a request, by the name it goes by.
func ClientPlace(name string, s *view.State) string { return client(name, s) }

// client is the place of who sent a request, by the name it goes by: a lane, or what a
// program calls itself.
func client(name string, s *view.State) string {
	if kind, instance, ok := strings.Cut(name, "/"); ok {
		if at := PlaceOf(trace.Lane{Component: kind, Instance: instance}, s); at != "" {
			return at
		}
	}
	if at := process(name); at != "" {
		return at
	}
	return scene.You // kubectl of another terminal, a pod's program
}

// target is the place of what a fault hits: of a queue its controllers, of an informer or a
// watch who has it.
func target(name string, s *view.State) string {
	name = strings.Fields(name + " ?")[0]
	kind, instance, _ := strings.Cut(name, "/")
	switch kind {
	case "store", "registry", "kms", "oidc", "cloud":
		return kind
	case "node", "instance":
		return "node/" + instance
	case "webhook":
		return name
	case "queue", "controller":
		return scene.Controllers
	case "informer", "watch":
		if owner := instance[:max(strings.LastIndexByte(instance, '/'), 0)]; owner != "" {
			return client(owner, s)
		}
		return scene.APIServer
	case "token", "certificate", "audit":
		return scene.APIServer
	}
	return PlaceOf(trace.Lane{Component: kind, Instance: instance}, s)
}

// member is where the API server's requests go: to the member that it was told to use,
// else to the one that leads.
func member(s *view.State) string {
	for _, c := range s.Store.Clients {
		if c.Client == trace.CompAPIServer && c.To != "" {
			return "member/" + c.To
		}
	}
	if s.Store.Leader != "" {
		return "member/" + s.Store.Leader
	}
	return scene.Store
}
