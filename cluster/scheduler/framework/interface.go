// Package framework is the scheduling framework: what a plugin is, what it can
// say, and what it learns about nodes and pods.
//
// kube-scheduler is a fixed loop with twelve extension points; everything that
// makes it choose one node over another is a plugin at one or more of them.
// Real plugins are compiled in as these are. Simplified: no pod groups,
// no extenders; and a plugin runs on the scheduler's task, so
// there are no contexts and no locks.
//
// Start reading at [FilterPlugin] and [ScorePlugin], then [NodeInfo].
// Mirrors k8s.io/kube-scheduler/framework interface.go.
package framework

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Scheduling, How: simulated.Absent,
	What: "pod groups and extenders",
})

// The extension points, in the order a pod meets them.
const (
	PreEnqueue     = "PreEnqueue"
	QueueSort      = "QueueSort"
	PreFilter      = "PreFilter"
	Filter         = "Filter"
	PostFilter     = "PostFilter"
	PreScore       = "PreScore"
	Score          = "Score"
	NormalizeScore = "NormalizeScore"
	Reserve        = "Reserve"
	Permit         = "Permit"
	PreBind        = "PreBind"
	Bind           = "Bind"
	PostBind       = "PostBind"
)

// MaxNodeScore is the highest normalised score; the lowest is 0.
const MaxNodeScore int64 = 100

// Plugin is a plugin of any kind.
type Plugin interface{ Name() string }

// PreEnqueuePlugin is asked before a pod enters the active queue. A pod it
// rejects is gated: it waits until the plugin lets it pass.
type PreEnqueuePlugin interface {
	Plugin
	PreEnqueue(pod *corev1.Pod) *Status
}

// QueueSortPlugin orders the active queue. There is exactly one.
type QueueSortPlugin interface {
	Plugin
	Less(a, b *QueuedPodInfo) bool
}

// PreFilterPlugin looks at the pod once, before any node is judged: it
// precomputes from all nodes, it may name the only nodes that matter, or say that
// the pod fits nowhere. Skip leaves out the plugin's Filter.
type PreFilterPlugin interface {
	Plugin
	PreFilter(state *CycleState, pod *corev1.Pod, nodes []*NodeInfo) (*PreFilterResult, *Status)
}

// PreFilterResult narrows the nodes that are looked at; nil or nil names mean
// all.
type PreFilterResult struct{ NodeNames map[string]bool }

// PreFilterExtensions are of a plugin whose PreFilter adds up something of all nodes: so
// that Filter can judge a node as it would be with other pods, the sums in state
// are brought up to date. The state is a clone made for that ([CycleState.Clone]).
type PreFilterExtensions interface {
	Plugin
	// AddPod counts a pod in that would be on the node.
	AddPod(state *CycleState, pod *corev1.Pod, added *PodInfo, node *NodeInfo)
	// RemovePod counts a pod out that would not.
	RemovePod(state *CycleState, pod *corev1.Pod, removed *PodInfo, node *NodeInfo)
	// ReplaceNode has one node be another, with other labels, taints or pods. It is
	// this project's own, for package whatif.
	ReplaceNode(state *CycleState, pod *corev1.Pod, was, is *NodeInfo)
}

// FilterPlugin judges one node: nil means that it can run the pod.
type FilterPlugin interface {
	Plugin
	Filter(state *CycleState, pod *corev1.Pod, node *NodeInfo) *Status
}

// PostFilterPlugin runs when no node is feasible. It may make room for a later
// attempt; its message becomes part of the pod's.
type PostFilterPlugin interface {
	Plugin
	PostFilter(t *sim.Task, state *CycleState, pod *corev1.Pod, statuses *NodeStatuses) (*PostFilterResult, *Status)
}

// PostFilterResult is the node on which room is being made, to be written to
// the pod's status.nominatedNodeName; "" takes a nomination back, a nil result
// leaves it as it is.
type PostFilterResult struct {
	NominatedNode string
	Victims       []string // keys of the pods that make room
	// Candidates are the nodes on which room could be made, and Because is why the
	// nominated one was taken; both for the trace.
	Candidates []trace.PreemptionCandidate
	Because    string
}

// PreScorePlugin looks at the pod once before scoring. Skip leaves out the
// plugin's Score.
type PreScorePlugin interface {
	Plugin
	PreScore(state *CycleState, pod *corev1.Pod, nodes []*NodeInfo) *Status
}

// ScorePlugin rates a feasible node; without a [ScoreNormalizer] between 0 and
// [MaxNodeScore].
type ScorePlugin interface {
	Plugin
	Score(state *CycleState, pod *corev1.Pod, node *NodeInfo) int64
}

// ScoreNormalizer brings a plugin's raw scores into 0..100; scores[i] is that of nodes[i].
type ScoreNormalizer interface {
	NormalizeScore(state *CycleState, nodes []*NodeInfo, scores []int64)
}

// ScoreExplainer explains in a sentence how a raw score came about. It is this
// project's own: upstream has no such thing.
type ScoreExplainer interface {
	ExplainScore(state *CycleState, pod *corev1.Pod, node *NodeInfo) string
}

// DeviceChooser knows which devices a pod gets if it goes to a node. It is this project's own,
// for the trace.
type DeviceChooser interface {
	DevicesOn(state *CycleState, nodeName string) []trace.ClaimedDevice
}

// ReservePlugin keeps track of what a pod is about to use; Unreserve takes that back
// when the pod is not bound after all, with the API server too if it was written already.
type ReservePlugin interface {
	Plugin
	Reserve(state *CycleState, pod *corev1.Pod, nodeName string) *Status
	Unreserve(t *sim.Task, state *CycleState, pod *corev1.Pod, nodeName string)
}

// PermitPlugin has the last word before binding. With Wait, the pod waits for so long at most
// until the plugin allows or rejects it; the next pods are scheduled meanwhile.
type PermitPlugin interface {
	Plugin
	Permit(state *CycleState, pod *corev1.Pod, nodeName string) (*Status, time.Duration)
}

// PreBindPlugin does what must be done before the binding is written.
type PreBindPlugin interface {
	Plugin
	PreBind(t *sim.Task, state *CycleState, pod *corev1.Pod, nodeName string) *Status
}

// BindPlugin writes the binding. Skip hands it on to the next one.
type BindPlugin interface {
	Plugin
	Bind(t *sim.Task, c client.Interface, pod *corev1.Pod, nodeName string) *Status
}

// PostBindPlugin is told of a binding that was written.
type PostBindPlugin interface {
	Plugin
	PostBind(state *CycleState, pod *corev1.Pod, nodeName string)
}

// EnqueueExtensions are what a plugin that rejects pods knows about bringing
// them back: the events that may help, each with a hint for a closer look. After
// a rejection by a plugin without them any event brings the pod back ([AnyEvent]).
type EnqueueExtensions interface {
	Plugin
	EventsToRegister() []ClusterEventWithHint
}
