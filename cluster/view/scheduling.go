package view

import (
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/trace"
)

// Scheduler is the scheduler's queues and its last cycles.
type Scheduler struct {
	Active        int // sizes as the scheduler last said
	Backoff       int
	Unschedulable int
	Cycles        uint64 // cycles begun since the start
	Bound         uint64 // pods bound since the start

	// Configured is the last configuration that it was given; nil: the defaults.
	Configured   *trace.SchedConfiguration
	ConfiguredBy trace.ID

	others   table[string, *OtherScheduler]
	pods     table[string, *SchedPod]
	cycles   table[uint64, *Cycle]
	assigned table[uint64, *Assignment] // bound by others
}

// serves are the schedulerNames that its profiles serve.
func (s *Scheduler) serves() []string {
	if s.Configured == nil {
		return []string{corev1.DefaultSchedulerName}
	}
	var names []string
	for _, p := range s.Configured.Profiles {
		names = append(names, p.Name)
	}
	return names
}

// OtherScheduler is a scheduler that runs in a pod, beside the control plane's.
type OtherScheduler struct {
	gen
	Pod          string // that it runs in: namespace/name
	Configured   *trace.SchedConfiguration
	ConfiguredBy trace.ID
}

func (*OtherScheduler) seal() {}

// Name is the schedulerName that it serves, the first if there are several.
func (o *OtherScheduler) Name() string {
	if o.Configured == nil || len(o.Configured.Profiles) == 0 {
		return o.Pod
	}
	return o.Configured.Profiles[0].Name
}

// Others are the schedulers that run in pods, by the pods' names.
func (s *Scheduler) Others() []*OtherScheduler { return s.others.values() }

// Other is the scheduler that runs in a pod, or nil.
func (s *Scheduler) Other(pod string) *OtherScheduler { o, _ := s.others.get(pod); return o }

// otherFor is a scheduler in a pod that serves a schedulerName, or nil.
func (s *Scheduler) otherFor(name string) *OtherScheduler {
	for _, o := range s.others.values() {
		for _, p := range o.Configured.Profiles {
			if p.Name == name {
				return o
			}
		}
	}
	return nil
}

// By names the scheduler of a cycle or of a queued pod, for people: "" is the control plane's, else it is
// the schedulerName that the one in that pod serves.
func (s *Scheduler) By(pod string) string {
	if pod == "" {
		return ""
	}
	if o := s.Other(pod); o != nil {
		return o.Name()
	}
	return pod // it has ended
}

// inPod is the pod in which the scheduler of a lane runs, "" for the control plane's.
func inPod(l trace.Lane) string {
	if l.Component == trace.CompPod {
		return l.Instance
	}
	return ""
}

// SchedPod is a pod in one of the scheduler's queues.
type SchedPod struct {
	gen
	Pod      string // namespace/name
	In       string // the pod in which its scheduler runs; "": the control plane's
	Queue    string // active, backoff, unschedulable, gated; permit of one that has its node and waits for a plugin
	Cause    string // what moved it there: "EventUnscheduledPodAdd"
	Attempts int
	// Gate is why a plugin keeps it out of the active queue, GatedBy which one.
	Gate, GatedBy string
	Came          time.Duration // into the queues, whichever it was in since
	Since         time.Duration
	Event         trace.ID

	Permit *trace.PermitWait // what it waits for in permit; else nil

	// Moves are its last moves since it came, oldest first.
	Moves []QueueMove
	// Stay is the last event that left it in the unschedulable pool, nil if none did.
	Stay      *trace.SchedQueueStay
	StayEvent trace.ID
}

// LastMove is its last move between the queues; an empty one for a pod that waits at Permit.
func (p *SchedPod) LastMove() QueueMove {
	if n := len(p.Moves); n > 0 {
		return p.Moves[n-1]
	}
	return QueueMove{SchedQueueMove: &trace.SchedQueueMove{}}
}

// Rejected are the plugins that rejected the pod, as it came into the unschedulable pool.
func (p *SchedPod) Rejected() []string {
	for i := len(p.Moves) - 1; i >= 0; i-- {
		if m := p.Moves[i]; m.To == "unschedulable" {
			return m.Rejected
		}
	}
	return nil
}

func (p *SchedPod) seal() {}

// Cycle is one scheduling cycle: a pod, and what every node and plugin said.
type Cycle struct {
	gen
	Number    uint64 // 1, 2, 3 …
	Pod       string
	In        string // the pod in which its scheduler runs; "": the control plane's
	Attempt   int
	NodeCount int // nodes in the snapshot
	Priority  int32
	// ProfileName is the schedulerName that its profile serves.
	ProfileName string
	// Moves are those of the pod in the queues before it, the last ones.
	Moves        []QueueMove
	ConfiguredBy trace.ID      // what told of the configuration; zero without one
	Queued       time.Duration // when the pod came into the queues before it
	Start        trace.ID
	At           time.Duration

	Decision  *trace.Decision // nil while it runs
	Decided   trace.ID
	DecidedAt time.Duration
	Permit    *trace.PermitWait // what became of the pod at Permit last; nil if it did not wait there
	Permitted trace.ID
	Bind      *trace.Decision // what the API server made of it; nil before
	Bound     trace.ID
	BoundAt   time.Duration

	configured *trace.SchedConfiguration // when it began; nil: the defaults

	points  []PointRun
	filters []NodeFilter
	scores  []NodeScores
}

func (c *Cycle) seal() {
	clip(&c.points)
	clip(&c.filters)
	clip(&c.scores)
}

// PointRun is one extension point having run.
type PointRun struct {
	*trace.ExtensionPoint
	Event trace.ID
}

// NodeFilter is what the filters say of a node.
type NodeFilter struct {
	*trace.FilterVerdict
	Event trace.ID
}

// Feasible reports whether the node can run the pod.
func (f NodeFilter) Feasible() bool { return f.By == "" }

// NodeScores is how the score plugins rate a node.
type NodeScores struct {
	*trace.NodeScore
	Event trace.ID
}

// Running reports whether the cycle has not decided yet.
func (c *Cycle) Running() bool { return c.Decision == nil }

// Points lists the extension points that ran, in order.
func (c *Cycle) Points() []PointRun { return c.points[:len(c.points):len(c.points)] }

// Filters lists the nodes' filter verdicts in the order they were given.
func (c *Cycle) Filters() []NodeFilter { return c.filters[:len(c.filters):len(c.filters)] }

// Scores lists the nodes' scores in the order they were given.
func (c *Cycle) Scores() []NodeScores { return c.scores[:len(c.scores):len(c.scores)] }

// NodeNames lists the nodes that were judged, by name.
func (c *Cycle) NodeNames() []string {
	names := make([]string, 0, len(c.filters))
	for _, f := range c.filters {
		names = append(names, f.Node)
	}
	if len(names) == 0 {
		for _, s := range c.scores {
			names = append(names, s.Node)
		}
	}
	sort.Strings(names)
	return names
}

// Filter is the filters' verdict on a node.
func (c *Cycle) Filter(node string) (NodeFilter, bool) {
	for i := len(c.filters) - 1; i >= 0; i-- {
		if c.filters[i].Node == node {
			return c.filters[i], true
		}
	}
	return NodeFilter{}, false
}

// Score is a node's scores.
func (c *Cycle) Score(node string) (NodeScores, bool) {
	for i := len(c.scores) - 1; i >= 0; i-- {
		if c.scores[i].Node == node {
			return c.scores[i], true
		}
	}
	return NodeScores{}, false
}

// Pods lists the pods in the scheduler's queues, by name.
func (s *Scheduler) Pods() []*SchedPod { return s.pods.values() }

// Pod is a pod in the scheduler's queues, or nil.
func (s *Scheduler) Pod(pod string) *SchedPod { p, _ := s.pods.get(pod); return p }

// PodsIn lists the pods in one queue, the one that came first first.
func (s *Scheduler) PodsIn(queue string) []*SchedPod {
	var out []*SchedPod
	s.pods.all(func(_ string, p *SchedPod) bool {
		if p.Queue == queue {
			out = append(out, p)
		}
		return true
	})
	sort.SliceStable(out, func(i, j int) bool { return out[i].Since < out[j].Since })
	return out
}

// RecentCycles lists the last cycles (at most 50), oldest first.
func (s *Scheduler) RecentCycles() []*Cycle { return s.cycles.values() }

// Last is the newest cycle, or nil.
func (s *Scheduler) Last() *Cycle {
	var c *Cycle
	s.cycles.back(func(_ uint64, x *Cycle) bool { c = x; return false })
	return c
}

// CycleOf is the newest kept cycle of a pod, or nil.
func (s *Scheduler) CycleOf(pod string) *Cycle {
	var c *Cycle
	s.cycles.back(func(_ uint64, x *Cycle) bool {
		if x.Pod == pod {
			c = x
		}
		return c == nil
	})
	return c
}

// Cycle is a cycle by number, or nil.
func (s *Scheduler) Cycle(number uint64) *Cycle { c, _ := s.cycles.get(number); return c }
