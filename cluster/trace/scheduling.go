package trace

import "time"

// Kinds of the scheduler.
var (
	SchedQueue = define[SchedQueueMove]("sched.queue", GrainQueue,
		"A pod moved between the scheduler's queues: active, backoff, unschedulable.",
		"The three queues and the event that moved the pod.",
		"pkg/scheduler/backend/queue/scheduling_queue.go")
	SchedStay = define[SchedQueueStay]("sched.stay", GrainQueue,
		"An event of the cluster left a pod in the unschedulable pool: no plugin that rejected it expects that the event helps.",
		"The pod in the queue, and the plugins' hints.",
		"pkg/scheduler/backend/queue/scheduling_queue.go isPodWorthRequeuing")
	SchedCycle = define[SchedCycleStart]("sched.cycle", GrainQueue,
		"The scheduler took a pod from the active queue and starts a scheduling cycle.",
		"The scheduler matrix.",
		"pkg/scheduler/schedule_one.go ScheduleOne")
	SchedPoint = define[ExtensionPoint]("sched.point", GrainStage,
		"One extension point of the scheduling framework ran its plugins.",
		"The plugin's column.",
		"pkg/scheduler/framework/runtime/framework.go")
	SchedFilter = define[FilterVerdict]("sched.filter", GrainStage,
		"The filter plugins judged one node: it can run the pod, or the first plugin that says no and why.",
		"The node's row.",
		"pkg/scheduler/framework/runtime/framework.go RunFilterPlugins")
	SchedScore = define[NodeScore]("sched.score", GrainStage,
		"The score plugins rated one node.",
		"The node's row: raw, normalised and weighted score of each plugin.",
		"pkg/scheduler/framework/runtime/framework.go RunScorePlugins")
	SchedDecision = define[Decision]("sched.decision", GrainDecision,
		"The scheduler decided: a node for the pod, or that none fits.",
		"The winner and the sum of its scores, or the reasons.",
		"pkg/scheduler/schedule_one.go schedulePod")
	SchedPermit = define[PermitWait]("sched.permit", GrainDecision,
		"A pod that has its node waits at Permit for a plugin, or the plugin has allowed or rejected it.",
		"The pods that wait at Permit, and how long they will.",
		"pkg/scheduler/framework/runtime/waiting_pods_map.go")
	SchedBind = define[Decision]("sched.bind", GrainDecision,
		"The scheduler's binding was accepted or refused by the API server.",
		"spec.nodeName of the pod.",
		"pkg/scheduler/schedule_one.go bindingCycle")
	SchedConfigured = define[SchedConfiguration]("sched.config", GrainDecision,
		"kube-scheduler was given a configuration; it is started with it.",
		"The profiles, and the next decision.",
		"cmd/kube-scheduler/app/options/configfile.go")
)

// SchedConfiguration is what a configuration comes to.
type SchedConfiguration struct {
	File     bool // there is a file; else it is upstream's defaults
	Profiles []SchedProfile
	// Changed are the settings of all profiles that are not upstream's: "podMaxBackoffSeconds 30".
	Changed []string `json:",omitempty"`
}

// SchedProfile serves the pods of one schedulerName.
type SchedProfile struct {
	Name       string
	Percentage int            `json:",omitempty"` // of nodes to find before scoring; 0 goes by their number
	Points     []SchedPlugins // those that have plugins
	Absent     []string       `json:",omitempty"` // plugins whose work nothing does here
	// Args are the arguments of plugins that are not upstream's: `NodeResourcesFit scoringStrategy {"type":"MostAllocated"}`.
	Args []string `json:",omitempty"`
}

// SchedPlugins are the plugins of an extension point in the order in which they run; scores
// with their weights: "NodeResourcesFit 1".
type SchedPlugins struct {
	Point   string
	Plugins []string
}

// SchedQueueMove is one pod changing queue. The sizes are those after the move.
type SchedQueueMove struct {
	Pod           string   // namespace/name
	From, To      string   // "", active, backoff, unschedulable, gated
	Event         string   // what moved it: "EventUnscheduledPodAdd", "AssignedPodDelete", "BackoffComplete"
	About         string   `json:",omitempty"` // the object of an event of the cluster: "node-4", "demo/web-1"
	Plugin        string   `json:",omitempty"` // had rejected the pod; its hint says that the event may help
	NoHint        bool     `json:",omitempty"` // the plugin has no hint for the event: each one may help
	Meanwhile     string   `json:",omitempty"` // the event that plugin means came during the attempt
	Rejected      []string `json:",omitempty"` // into the unschedulable pool: the plugins that rejected it
	Attempts      int
	Active        int
	Backoff       int
	Unschedulable int
}

// SchedQueueStay is an event that did not move a pod.
type SchedQueueStay struct {
	Pod   string   // namespace/name
	Event string   // "NodeUpdateNodeLabel"
	About string   `json:",omitempty"` // its object: "node-4"
	Asked []string `json:",omitempty"` // plugins whose hint says that it does not help; none: no rejecting plugin is interested
}

// SchedCycleStart is a scheduling cycle begun.
type SchedCycleStart struct {
	Pod      string
	Attempt  int
	Nodes    int // nodes in the snapshot
	Priority int32
	Profile  string `json:",omitempty"` // the schedulerName of the pod; none is default-scheduler

	// Sizes of the queues without the pod.
	Active        int
	Backoff       int
	Unschedulable int
}

// ExtensionPoint is one extension point having run.
type ExtensionPoint struct {
	Pod     string
	Point   string // PreEnqueue, QueueSort, PreFilter, Filter, PostFilter, PreScore, Score, NormalizeScore, Reserve, Permit, PreBind, Bind, PostBind
	Plugins []string
	Note    string `json:",omitempty"`
}

// FilterVerdict is the filters' verdict on one node.
type FilterVerdict struct {
	Pod     string
	Node    string
	Passed  []string // plugins that let it pass, in order
	By      string   `json:",omitempty"` // the plugin that rejected
	Code    string   `json:",omitempty"` // Unschedulable, UnschedulableAndUnresolvable, Error
	Reasons []string `json:",omitempty"` // upstream's words
}

// PluginScore is one plugin's score of one node.
type PluginScore struct {
	Plugin     string
	Raw        int64
	Normalized int64 // 0..100
	Weight     int64
	Weighted   int64
	How        string `json:",omitempty"` // how the number came about, in words
}

// NodeScore is the scores of one node.
type NodeScore struct {
	Pod    string
	Node   string
	Scores []PluginScore
	Total  int64
}

// Decision is what a scheduling cycle ended with.
type Decision struct {
	Pod       string
	Node      string `json:",omitempty"`
	Total     int64  `json:",omitempty"`
	Evaluated int
	Feasible  int
	TiedWith  []string       `json:",omitempty"` // nodes with the same total; one was drawn
	Skipped   bool           `json:",omitempty"` // scoring skipped: a single feasible node
	Like      string         `json:",omitempty"` // the pod before it, which is alike: the node is the next best of its cycle, and no other was looked at
	Message   string         `json:",omitempty"` // "0/3 nodes are available: …"
	Reasons   map[string]int `json:",omitempty"` // reason -> number of nodes

	// Devices are what the pod's ResourceClaims get on the node.
	Devices []ClaimedDevice `json:",omitempty"`

	// Preemption, where no node fits.
	Nominated string   `json:",omitempty"` // the node on which room is being made
	Victims   []string `json:",omitempty"` // the pods that are evicted from it
	// Candidates are the nodes on which room could be made, on as many as there are
	// verdicts in the trace, the nominated one first; Because is why it is that one.
	Candidates []PreemptionCandidate `json:",omitempty"`
	Because    string                `json:",omitempty"`

	// Changes is, where no node fits, what would have to change on each, the smallest
	// first: on all, or on as many as there are verdicts in the trace.
	Changes []NodeChange `json:",omitempty"`

	// Topology is how the pods are spread that the pod's spread constraints and its affinity to
	// other pods are about, as the plugins counted them; Unlisted is how many more constraints there are.
	Topology []TopologyConstraint `json:",omitempty"`
	Unlisted int                  `json:",omitempty"`
}

// TopologyConstraint is a topologySpreadConstraint or a term of an affinity to other pods.
type TopologyConstraint struct {
	Plugin   string // PodTopologySpread or InterPodAffinity
	What     string // one of the Topology… below
	Hard     bool   `json:",omitempty"` // it rejects nodes; else it is about scores
	Default  bool   `json:",omitempty"` // it is not the pod's own but a default constraint
	Key      string // the label whose value says which nodes belong together
	Selector string `json:",omitempty"` // the pods that count
	Self     int    `json:",omitempty"` // 1: the pod itself counts where it goes
	MaxSkew  int    `json:",omitempty"`
	Min      int    `json:",omitempty"` // pods of the domain that has the fewest
	Weight   int64  `json:",omitempty"` // of a preferred term
	// First says that no pod is there that the affinity is about but for the pod itself, so that it
	// may go anywhere.
	First   bool             `json:",omitempty"`
	Domains []TopologyDomain `json:",omitempty"` // by value
	More    int              `json:",omitempty"` // domains that are not listed
}

// What a topology constraint is.
const (
	TopologySpread   = "spread"
	TopologyNear     = "affinity"
	TopologyAway     = "anti-affinity"
	TopologyKeptAway = "anti-affinity of others" // pods that are there keep this one away
	TopologyOthers   = "preferences of others"   // what pods that are there prefer of this one
)

// TopologyDomain is the nodes with one value of a label.
type TopologyDomain struct {
	Value   string
	Nodes   int      `json:",omitempty"` // how many there are
	Count   int      `json:",omitempty"` // pods that count
	Pods    []string `json:",omitempty"` // some of them: namespace/name
	Sum     int64    `json:",omitempty"` // of the weights of preferred terms
	Refused bool     `json:",omitempty"` // the constraint rejects its nodes
	Chosen  bool     `json:",omitempty"` // the node that was chosen belongs to it
}

// ClaimedDevice is a device that a ResourceClaim has got.
type ClaimedDevice struct {
	Claim, Request       string
	Driver, Pool, Device string
	// Before: the claim had it already.
	Before bool `json:",omitempty"`
}

// PreemptionCandidate is a node on which a pod would fit if the victims went.
type PreemptionCandidate struct {
	Node    string
	Victims []Victim // the most important first
}

// Victim is a pod that would have to go.
type Victim struct {
	Pod      string // namespace/name
	Priority int32
	Budget   string `json:",omitempty"` // the PodDisruptionBudget that does not allow it
}

// NodeChange is the least that would have to change for a pod to fit on a node.
type NodeChange struct {
	Node  string
	Steps []ChangeStep `json:",omitempty"` // all of them together
	Evict []string     `json:",omitempty"` // the pods whose going makes the room that lacks
	Never string       `json:",omitempty"` // why no change of the node helps
}

// ChangeStep is one thing that would have to be otherwise.
type ChangeStep struct {
	What string // of the node: "500m more free cpu"
	Or   string `json:",omitempty"` // of the pod, instead: "request at most 1500m"
}

// The states of a [PermitWait].
const (
	PermitWaits     = "waits"
	PermitAllowed   = "allowed"   // by one plugin; the pod goes on when none is pending
	PermitRejected  = "rejected"  // or the time of a plugin is over, or the pod was deleted
	PermitPreempted = "preempted" // a pod of higher priority takes the room
)

// PermitWait is a pod that Permit plugins have wait, assumed on its node.
type PermitWait struct {
	Pod     string
	Node    string
	State   string         // waits, allowed, rejected, preempted
	By      string         `json:",omitempty"` // the plugin that allowed or rejected it
	Message string         `json:",omitempty"` // why it was rejected, in upstream's words
	Pending []PermitPlugin `json:",omitempty"` // those that have not allowed it yet
}

// PermitPlugin is a plugin that a pod waits for.
type PermitPlugin struct {
	Plugin string
	Until  time.Duration // virtual; then the pod is rejected
}
