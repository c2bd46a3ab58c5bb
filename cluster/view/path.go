package view

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/trace"
)

// Path is what comes of a command or a fault, as it comes: the tree of its effects, and
// the stations on it, at which a step that follows it ends. A station is an event of the
// kinds that a short "why?" names, and the first of its sort: the second of two pods goes
// the same way as the first, so it is no station of its own.
//
// A Path is told of every event after its beginning, once and in order.
type Path struct {
	of       trace.ID
	in       map[trace.ID]struct{}
	asked    map[uint64]struct{} // requests of the command itself, by their number
	sorts    map[string]trace.ID // of each sort the first, which is the station
	stations []trace.ID
	done     bool // the command has ended
	wrote    bool // it is more than reading
}

// NewPath is the path of an event that nothing is known of yet.
func NewPath(of trace.ID) *Path {
	return &Path{of: of, in: map[trace.ID]struct{}{}, asked: map[uint64]struct{}{}, sorts: map[string]trace.ID{}}
}

// Of is the command or fault that the path begins with.
func (p *Path) Of() trace.ID { return p.of }

// Stations are the numbers of those met so far, oldest first, without the beginning.
func (p *Path) Stations() []trace.ID { return p.stations }

// Done reports whether the command has ended; a fault has at once.
func (p *Path) Done() bool { return p.done }

// Idle reports whether nothing will come of it: the command has ended, and only read.
func (p *Path) Idle() bool { return p.done && !p.wrote }

// mostEffects bounds how many events are remembered as effects.
const mostEffects = 1 << 17

// Take takes in the next event, and reports whether it is a station.
func (p *Path) Take(e *trace.Event) bool {
	if e.ID == p.of {
		p.in[e.ID] = struct{}{}
		p.wrote = e.Kind != trace.CommandStart
		p.done = p.wrote
		return false
	}
	if !slices.ContainsFunc(e.Causes, func(c trace.ID) bool { _, ok := p.in[c]; return ok }) {
		return false
	}
	if p.done = p.done || e.Kind == trace.CommandEnd; len(p.in) < mostEffects {
		p.in[e.ID] = struct{}{}
	}
	if r, ok := e.Payload.(*trace.Request); ok && e.Kind == trace.RequestReceived && slices.Contains(e.Causes, p.of) {
		p.asked[r.Request] = struct{}{}
	}
	sort := p.sort(e)
	if sort == "" {
		return false
	}
	p.wrote = true
	if _, known := p.sorts[sort]; known {
		return false
	}
	p.sorts[sort] = e.ID
	p.stations = append(p.stations, e.ID)
	return true
}

// Like is the station that says the same as an event of the path, of another object or of the
// same one once more: for a station itself.
func (p *Path) Like(e *trace.Event) (station trace.ID, ok bool) {
	if !p.Has(e.ID) {
		return trace.ID{}, false
	}
	station, ok = p.sorts[p.sort(e)]
	return station, ok
}

// sort is what an event has in common with those that say the same of another object; ""
// for one that no step ends at.
func (p *Path) sort(e *trace.Event) string {
	if e.Outside() || Routine(e) || !stations[e.Kind] {
		return ""
	}
	words := []string{string(e.Kind)}
	switch x := e.Payload.(type) {
	case *trace.Response:
		if x.Code < 400 || slices.Contains([]string{"get", "list", "watch"}, x.Verb) {
			return "" // a client that looks whether there is something is told 404, and goes on
		}
		if _, own := p.asked[x.Request]; x.Reason == string(metav1.StatusReasonConflict) && !own {
			return "" // a controller whose cache was a moment behind reads again, and goes on
		}
		words = append(words, x.Reason)
	case *trace.RuntimeCall:
		words = append(words, x.Call)
		if x.Error != "" {
			words = append(words, "failed")
		}
	case *trace.Fault, *trace.Process, *trace.NodeReport:
		words = append(words, e.Lane.String())
	default:
		if e.Kind == trace.StoreCommit || e.Kind == trace.Converged {
			words = append(words, e.Object.Kind)
		} else {
			words = append(words, e.Lane.Component)
		}
	}
	return strings.Join(words, " ")
}

// stations are the kinds at which a step along a path may end: who did something, and
// what became of it. What only says so once more, or is on the way, is left out.
var stations = map[trace.Kind]bool{
	trace.RequestDone:     true, // refused
	trace.StoreCommit:     true,
	trace.StoreRefused:    true,
	trace.WebhookCalled:   true,
	trace.ReconcileAction: true,
	trace.LeaderElected:   true,
	trace.SchedDecision:   true,
	trace.PodAdmit:        true,
	trace.VolumesMounted:  true,
	trace.CNICall:         true,
	trace.CSICall:         true,
	trace.CRICall:         true,
	trace.RestartBackoff:  true,
	trace.ProbeResult:     true,
	trace.RuleChange:      true,
	trace.PacketEnd:       true,
	trace.NodeStatus:      true,
	trace.Converged:       true,
	trace.FaultInjected:   true,
	trace.FaultHealed:     true,
	trace.ProcessStart:    true,
	trace.ProcessExit:     true,
	trace.ProcessPanic:    true,
}

// Has reports whether an event came of the beginning.
func (p *Path) Has(id trace.ID) bool { _, ok := p.in[id]; return ok }

// Join makes what comes of another event come of the beginning too.
func (p *Path) Join(id trace.ID) { p.in[id] = struct{}{} }
