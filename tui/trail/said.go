package trail

import (
	"fmt"
	"strings"

	"kviz/cluster/trace"
)

// words are what a station says whose event needs no more than its kind: where, and what.
var words = map[trace.Kind][2]string{
	trace.StoreRefused:   {"store", "refused"},
	trace.WebhookCalled:  {"webhook", "asked"},
	trace.PodAdmit:       {"kubelet", "admits"},
	trace.VolumesMounted: {"kubelet", "volumes"},
	trace.RestartBackoff: {"kubelet", "back-off"},
	trace.CNICall:        {"network", "address"},
	trace.CSICall:        {"driver", "storage"},
	trace.ProbeResult:    {"kubelet", "probe"},
	trace.RuleChange:     {"proxy", "rules"},
	trace.PacketEnd:      {"network", "packet"},
	trace.Converged:      {"cluster", "as asked"},
}

// said is what a station says: the place and what happened there.
func said(e *trace.Event) (place, word string) {
	switch p := e.Payload.(type) {
	case *trace.Commit:
		return "store", fmt.Sprintf("rev %d", p.Revision)
	case *trace.Action:
		return short(e.Lane.Component), p.Verb + " " + p.Target.Kind
	case *trace.Decision:
		if p.Node == "" {
			return "sched.", "no node"
		}
		return "sched.", p.Node
	case *trace.RuntimeCall:
		return "runtime", p.Call
	case *trace.Response:
		return "API", fmt.Sprint(p.Code)
	case *trace.Fault:
		return "you", p.Fault
	}
	if w, ok := words[e.Kind]; ok {
		return w[0], w[1]
	}
	_, what, _ := strings.Cut(string(e.Kind), ".")
	return short(e.Lane.Component), what
}

// short is a component's name without what all of its sort have.
func short(component string) string { return strings.TrimSuffix(component, "-controller") }

// nodes is how many of all nodes can take a pod, as the scheduler says it.
func nodes(fit, all int) string { return fmt.Sprintf("%d/%d nodes", fit, all) }
