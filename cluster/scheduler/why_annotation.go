package scheduler

import (
	"encoding/json"
	"unicode/utf8"

	"kviz/cluster/scheduler/framework"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Scheduling, How: simulated.Simplified,
	What: "with --experimental-why-annotation a pod that fits nowhere is annotated with what would have to change (" + WhyAnnotation + "), as is proposed upstream in kubernetes#138991; without the flag nothing is written",
})

// WhyAnnotation is the annotation of a pod that fits nowhere: why, and what would have to change on
// each node, as the JSON of a [Why]. It is experimental and written only with Config.WhyAnnotation. A
// pod that is scheduled later keeps what its last attempt without a node said.
//
// Upstream has no such thing; kubernetes#138991 proposes one, whose form is not settled.
const WhyAnnotation = "scheduler.kviz.dev/why-unschedulable"

// The annotations of an object may have 256 KiB together; this one takes at most a small part.
const (
	maxWhyNodes = 16
	maxWhyBytes = 32 << 10
	maxWhyText  = 256 // bytes of a reason or of a step
	maxWhyList  = 8   // reasons, steps and pods of a node
)

// Why is the value of [WhyAnnotation].
type Why struct {
	// Version is 1; a reader refuses what it does not know.
	Version int `json:"version"`
	// Generation is the pod's metadata.generation that was judged.
	Generation int64 `json:"observedGeneration,omitempty"`
	// Message is that of the condition PodScheduled.
	Message string `json:"message"`
	// Nominated is the node on which room is being made for the pod, if it is; what would have to change is not
	// looked for then.
	Nominated string `json:"nominatedNodeName,omitempty"`
	// Nodes are the nodes, the one with the smallest change first; More is how many more there are.
	Nodes []WhyNode `json:"nodes,omitempty"`
	More  int       `json:"moreNodes,omitempty"`
}

// WhyNode is why a node cannot run the pod, and the least that would have to change.
type WhyNode struct {
	Name    string   `json:"name"`
	Plugin  string   `json:"plugin,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
	// Change is all that would have to change, all of it together.
	Change []WhyStep `json:"change,omitempty"`
	// Evict are pods (namespace/name) whose going makes the room that lacks.
	Evict []string `json:"evict,omitempty"`
	// Never is why no change of the node helps.
	Never string `json:"never,omitempty"`
}

// WhyStep is one thing that would have to change: of the node, or instead of the pod.
type WhyStep struct {
	Node string `json:"node"`
	Pod  string `json:"pod,omitempty"`
}

// whyUnschedulable is the annotation for a decision without a node.
func whyUnschedulable(pod *framework.PodInfo, d *trace.Decision, statuses *framework.NodeStatuses) string {
	w := Why{Version: 1, Generation: pod.Pod.Generation, Message: truncate(d.Message), Nominated: d.Nominated}
	for i := range d.Changes {
		c := &d.Changes[i]
		if len(w.Nodes) == maxWhyNodes {
			break
		}
		n := WhyNode{Name: c.Node, Never: short(c.Never)}
		if st := statuses.Of(c.Node); st != nil {
			n.Plugin = st.Plugin()
			for _, r := range st.Reasons() {
				n.Reasons = append(n.Reasons, short(r))
			}
		}
		for _, s := range c.Steps {
			n.Change = append(n.Change, WhyStep{Node: short(s.What), Pod: short(s.Or)})
		}
		n.Evict = bounded(c.Evict)
		// Fewer steps than it takes would be wrong: a node that takes too many is told without.
		if n.Reasons = bounded(n.Reasons); len(n.Change) > maxWhyList {
			n.Change, n.Evict, n.Never = nil, nil, "too much would have to change"
		}
		w.Nodes = append(w.Nodes, n)
	}
	for {
		w.More = max(len(d.Changes), d.Evaluated) - len(w.Nodes)
		value, err := json.Marshal(w)
		if err != nil {
			panic("scheduler: the annotation does not marshal: " + err.Error())
		}
		if len(value) <= maxWhyBytes || len(w.Nodes) == 0 {
			return string(value)
		}
		w.Nodes = w.Nodes[:len(w.Nodes)-1]
	}
}

func bounded(list []string) []string { return list[:min(len(list), maxWhyList)] }

// short cuts a text, and not within a rune.
func short(text string) string {
	if len(text) <= maxWhyText {
		return text
	}
	n := maxWhyText
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}
