package expr

import (
	"reflect"
	"slices"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// extra is a name that a type has in expressions beside its fields.
type extra struct {
	get func(any) any
	typ reflect.Type // what it is, for checking names; nil for anything
}

// byName stands for a lookup of things by name when names are checked.
type byName[T any] struct {
	_ *lookup
	_ T
}

func mapOf[T any](find func(string) T, none func(T) bool, keys func() []string) *lookup {
	return &lookup{
		find: func(k string) (any, bool) {
			x := find(k)
			if none(x) {
				return nil, false
			}
			return x, true
		},
		keys: keys,
	}
}

func isNil[T any](x *T) bool { return x == nil }

func names[T any](list []T, name func(T) string) []string {
	out := make([]string, 0, len(list))
	for _, x := range list {
		out = append(out, name(x))
	}
	return out
}

func more[T any](typ reflect.Type, get func(T) any) extra {
	return extra{func(x any) any { return get(x.(T)) }, typ}
}

// extras are the names that expressions have for the state's types beside
// their fields and lists.
var extras = map[reflect.Type]map[string]extra{
	reflect.TypeFor[*view.Store](): {
		"members": more(reflect.TypeFor[byName[*view.Member]](), func(s *view.Store) any {
			return mapOf(s.Member, isNil, func() []string { return names(s.Members(), func(m *view.Member) string { return m.Name }) })
		}),
		"quorum":   more(reflect.TypeFor[*quorum](), func(s *view.Store) any { q := s.Quorum(); return &quorum{q.Have, q.Need, q.Total, q.OK()} }),
		"keys":     more(reflect.TypeFor[int](), func(s *view.Store) any { return s.KeyCount() }),
		"messages": more(reflect.TypeFor[[]*view.Message](), func(s *view.Store) any { return s.InFlight() }),
	},
	reflect.TypeFor[*view.Queue](): {
		"depth": more(reflect.TypeFor[int](), func(q *view.Queue) any { return q.Ready }),
	},
	reflect.TypeFor[*view.Node](): {
		"ready":  more(reflect.TypeFor[bool](), func(n *view.Node) any { return n.Ready == "True" }),
		"status": more(reflect.TypeFor[string](), func(n *view.Node) any { return n.Ready }),
		"pods": more(reflect.TypeFor[byName[*view.NodePod]](), func(n *view.Node) any {
			return mapOf(n.Pod, isNil, func() []string { return names(n.Pods(), func(p *view.NodePod) string { return p.Pod }) })
		}),
		"rules": more(reflect.TypeFor[[]*rule](), func(n *view.Node) any { return rules(n) }),
	},
	reflect.TypeFor[*view.NodePod](): {
		"containers": more(reflect.TypeFor[byName[*view.Container]](), func(p *view.NodePod) any {
			return mapOf(p.Container, isNil, func() []string {
				return names(p.Containers(), func(c view.Container) string { return c.Container })
			})
		}),
	},
	reflect.TypeFor[*view.Scheduler](): {
		"pods": more(reflect.TypeFor[byName[*view.SchedPod]](), func(s *view.Scheduler) any {
			return mapOf(s.Pod, isNil, func() []string { return names(s.Pods(), func(p *view.SchedPod) string { return p.Pod }) })
		}),
		"last": more(reflect.TypeFor[*view.Cycle](), func(s *view.Scheduler) any { return s.Last() }),
	},
	reflect.TypeFor[*view.Controller](): {
		"last": more(reflect.TypeFor[*view.ReconcileRun](), func(c *view.Controller) any { return c.Last() }),
	},
	reflect.TypeFor[*view.Family](): {
		"active":      more(reflect.TypeFor[int](), func(f *view.Family) any { return f.Active() }),
		"waiting":     staged(view.Waiting),
		"starting":    staged(view.Starting),
		"unready":     staged(view.Unready),
		"ready":       staged(view.Ready),
		"running":     staged(view.Running),
		"suspended":   staged(view.Suspended),
		"succeeded":   staged(view.Succeeded),
		"failed":      staged(view.Failed),
		"terminating": staged(view.Terminating),
	},
	reflect.TypeFor[*view.Rollout](): {
		"most":  more(reflect.TypeFor[int](), func(r *view.Rollout) any { return r.Most() }),
		"least": more(reflect.TypeFor[int](), func(r *view.Rollout) any { return r.Least() }),
		"held":  more(reflect.TypeFor[bool](), func(r *view.Rollout) any { return r.Held() }),
		"done":  more(reflect.TypeFor[bool](), func(r *view.Rollout) any { return r.Done() }),
		"says":  more(reflect.TypeFor[string](), func(r *view.Rollout) any { text, _ := r.Says(); return text }),
	},
	reflect.TypeFor[*view.Autoscaler](): {
		"last": more(reflect.TypeFor[*view.AutoscalerSum](), func(a *view.Autoscaler) any {
			if x := a.Last(); x != nil {
				return x
			}
			return nil
		}),
	},
	reflect.TypeFor[*view.AutoscalerSum](): {
		"line": more(reflect.TypeFor[string](), func(x *view.AutoscalerSum) any { return x.Line() }),
	},
	reflect.TypeFor[*view.Budget](): {
		"never": more(reflect.TypeFor[bool](), func(b *view.Budget) any { return b.Never() }),
	},
	reflect.TypeFor[*trace.Event](): {
		"grain":     more(reflect.TypeFor[string](), func(e *trace.Event) any { return e.Grain().String() }),
		"component": more(reflect.TypeFor[string](), func(e *trace.Event) any { return e.Lane.Component }),
		"instance":  more(reflect.TypeFor[string](), func(e *trace.Event) any { return e.Lane.Instance }),
		"number":    more(reflect.TypeFor[int](), func(e *trace.Event) any { return e.ID.Seq }),
		"payload":   more(payloadType, func(e *trace.Event) any { return e.Payload }),
		"words":     more(reflect.TypeFor[string](), func(e *trace.Event) any { return view.Explain(e) }),
	},
}

// staged is how many of a family are in a stage.
func staged(in view.Stage) extra {
	return more(reflect.TypeFor[int](), func(f *view.Family) any { return f.In(in) })
}

// quorum is [view.Quorum] with its verdict.
type quorum struct {
	Have, Need, Total int
	OK                bool
}

// rule is a rule of a node with the chain it is in.
type rule struct {
	Table, Chain, Text, Service string
}

func rules(n *view.Node) []*rule {
	var out []*rule
	for _, t := range n.Tables() {
		for _, c := range n.Chains(t) {
			for _, r := range c.Rules() {
				out = append(out, &rule{t, c.Name, r.Text, r.Service})
			}
		}
	}
	return out
}

// figure is a load that is set, with its value now.
type figure struct {
	Target, Kind, Namespace, Name, Container string
	What, Metric, Labels                     string
	Each                                     bool
	Curve                                    string
	Now                                      string  // as kviz load tells it: 400m, 200Mi
	Value                                    float64 // cores, bytes, or what the metric counts
	Since                                    time.Duration
}

// loads are the figures that are set.
func loads(s *view.State) (all []*figure) {
	for _, l := range s.Loads() {
		all = append(all, &figure{
			Target: l.Target(), Kind: l.Kind, Namespace: l.Namespace, Name: l.Name, Container: l.Container, What: l.What, Metric: l.Metric, Labels: l.Labels,
			Each: l.Each, Curve: l.Curve.String(), Now: l.Text(s.At), Since: l.Since,
			Value: l.Curve.Unit().Quantity(l.At(s.At)).AsApproximateFloat64(),
		})
	}
	return all
}

// volumes are the standings of claims and volumes that have a volume.
func volumes(s *view.State) []*view.VolumeStanding {
	return slices.DeleteFunc(s.Volumes(s.Users("")), func(v *view.VolumeStanding) bool { return v.Volume == "" })
}

// root is a name that an expression may begin with.
type root struct {
	name  string
	typ   reflect.Type
	means string
	get   func(*view.State, *trace.Event) any
}

var roots = []root{
	{"autoscalers", reflect.TypeFor[byName[*view.Autoscaler]](), "what was worked out for each HorizontalPodAutoscaler, by namespace/name: last, sums", func(s *view.State, _ *trace.Event) any {
		return mapOf(s.AutoscalerNamed, isNil, s.AutoscalerNames)
	}},
	{"balancer", reflect.TypeFor[*view.Balancer](), "the load balancer before several API servers: servers", func(s *view.State, _ *trace.Event) any { return &s.Balancer }},
	{"budgets", reflect.TypeFor[[]*view.Budget](), "the PodDisruptionBudgets: of, rule, expected, desired, healthy, allowed, never, says", func(s *view.State, _ *trace.Event) any { return s.Budgets("") }},
	{"claims", reflect.TypeFor[[]*view.VolumeStanding](), "the claims and what stands behind each: claim, volume, phase, state, size, class, nodes, pods, why", func(s *view.State, _ *trace.Event) any { return s.Claims("") }},
	{"clock", reflect.TypeFor[*view.Clock](), "the clock: paused, speed, actual, behind", func(s *view.State, _ *trace.Event) any { return &s.Clock }},
	{"commands", reflect.TypeFor[[]*view.Command](), "the last console commands", func(s *view.State, _ *trace.Event) any { return s.Commands() }},
	{"controllers", reflect.TypeFor[byName[*view.Controller]](), "the controllers by name", func(s *view.State, _ *trace.Event) any {
		return mapOf(s.Controller, isNil, func() []string { return names(s.Controllers(), func(c *view.Controller) string { return c.Name }) })
	}},
	{"disks", reflect.TypeFor[[]*view.StorageDisk](), "the disks of the storage driver: id, volume, size, nodes, staged, pods, calls", func(s *view.State, _ *trace.Event) any { return s.Disks() }},
	{"event", reflect.TypeFor[*trace.Event](), "the event that was folded last: kind, lane, object, payload …", func(_ *view.State, e *trace.Event) any {
		if e == nil {
			return &trace.Event{}
		}
		return e
	}},
	{"events", reflect.TypeFor[int](), "how many events there were", func(s *view.State, _ *trace.Event) any { return s.Events }},
	{"faults", reflect.TypeFor[[]*view.Fault](), "what is broken on purpose now", func(s *view.State, _ *trace.Event) any { return s.Faults() }},
	{"flows", reflect.TypeFor[[]*view.Flow](), "the last connection attempts", func(s *view.State, _ *trace.Event) any { return s.Flows() }},
	{"informers", reflect.TypeFor[[]*view.Informer](), "the clients' caches: informer, resource, revision, items, synced, stale, relists, tombstones", func(s *view.State, _ *trace.Event) any { return s.Informers() }},
	{"lanes", reflect.TypeFor[byName[*view.Lane]](), "the swimlanes by name", func(s *view.State, _ *trace.Event) any {
		return mapOf(s.Lane, isNil, func() []string { return names(s.Lanes(), func(l *view.Lane) string { return l.Lane.String() }) })
	}},
	{"leases", reflect.TypeFor[byName[*view.Lease]](), "who is active, by lease", func(s *view.State, _ *trace.Event) any {
		return mapOf(s.Lease, isNil, func() []string { return names(s.Leases(), func(l *view.Lease) string { return l.Name }) })
	}},
	{"loads", reflect.TypeFor[[]*figure](), "what is set with kviz load: target, what, metric, each, curve, and now and value, as it is at this moment", func(s *view.State, _ *trace.Event) any { return loads(s) }},
	{"nodes", reflect.TypeFor[byName[*view.Node]](), "the nodes by name: ready, taints, pods, rules", func(s *view.State, _ *trace.Event) any {
		return mapOf(s.Node, isNil, func() []string { return names(s.Nodes(), func(n *view.Node) string { return n.Name }) })
	}},
	{"processes", reflect.TypeFor[byName[*view.Process]](), "the components' processes by name", func(s *view.State, _ *trace.Event) any {
		return mapOf(s.Process, isNil, func() []string { return names(s.Processes(), func(p *view.Process) string { return p.Name }) })
	}},
	{"queues", reflect.TypeFor[byName[*view.Queue]](), "the work queues by name: depth, processing, delayed", func(s *view.State, _ *trace.Event) any {
		return mapOf(s.Queue, isNil, func() []string { return names(s.Queues(), func(q *view.Queue) string { return q.Name }) })
	}},
	{"requests", reflect.TypeFor[[]*view.Request](), "the last answered requests", func(s *view.State, _ *trace.Event) any { return s.Requests() }},
	{"run", reflect.TypeFor[*view.Run](), "the run: seed, ready, nodes", func(s *view.State, _ *trace.Event) any { return &s.Run }},
	{"scheduler", reflect.TypeFor[*view.Scheduler](), "the scheduler: active, unschedulable, pods, last", func(s *view.State, _ *trace.Event) any { return &s.Scheduler }},
	{"store", reflect.TypeFor[*view.Store](), "the store: leader, term, revision, quorum, members", func(s *view.State, _ *trace.Event) any { return &s.Store }},
	{"time", reflect.TypeFor[time.Duration](), "virtual time since the start", func(s *view.State, _ *trace.Event) any { return s.At }},
	{"volumes", reflect.TypeFor[[]*view.VolumeStanding](), "the PersistentVolumes and their claims, with the names that claims has", func(s *view.State, _ *trace.Event) any { return volumes(s) }},
	{"watchers", reflect.TypeFor[[]*view.Watcher](), "the open watches", func(s *view.State, _ *trace.Event) any { return s.Watchers() }},
}

// function is a function that looks something up in the state.
type function struct{ name, use, means string }

// functions are the functions that look things up in the state.
var functions = []function{
	{"objects", `objects("pods", "demo")`, "the objects of a kind, in one namespace or in all, as in JSON"},
	{"object", `object("deployments", "demo", "web")`, "one object as in JSON, or null; without a namespace: object(\"nodes\", \"node-1\")"},
	{"pod", `pod("demo/web-1")`, "a pod as its node's kubelet sees it: containers, steps, probes"},
	{"key", `key("/registry/pods/demo/web-1")`, "a key of the store: createRevision, modRevision, version (how often it was written); null if there is none"},
	{"kubeEvents", `kubeEvents("Pod", "demo", "web-1")`, "the Kubernetes Events about an object"},
	{"owned", `owned("deployments", "demo", "web")`, "what an object owns, counted by resource: total, active, ready, waiting, starting, unready, running, succeeded, failed, terminating"},
	{"rollout", `rollout("deployments", "demo", "web")`, "how a Deployment, StatefulSet or DaemonSet stands: total and most, available and least, held, done, updated, revisions; null for other objects"},
	{"job", `job("demo", "pi")`, "how far a Job is: completions, succeeded, active, failed, and by index done, lost, running, again, notBegun; null if there is none"},
	{"hpa", `hpa("demo", "web")`, "the last sum of a HorizontalPodAutoscaler: current, metrics, proposed, stabilized, min, max, desired, limit, line; null before its first"},
	{"budget", `budget("demo", "web")`, "how a PodDisruptionBudget stands: rule, expected, desired, healthy, allowed, never, says; null if there is none"},
	{"claim", `claim("demo", "data")`, "how a claim stands: phase, volume, state (pending, bound, attaching, attached, detaching, mounted, failed, lost), nodes, pods, why"},
	{"volume", `volume("pv-1")`, "the same of a PersistentVolume; its state is also available or released where no claim has it"},
	{"gap", `gap(time)`, "the longest time between two commits of the store since a virtual time, in milliseconds"},
}

// Name is one name of the expression language, for help and completion.
type Name struct {
	Name  string
	Means string
}

// Names lists what an expression may begin with.
func Names() []Name {
	var out []Name
	for _, r := range roots {
		out = append(out, Name{r.name, r.means})
	}
	for _, f := range functions {
		out = append(out, Name{f.use, f.means})
	}
	return out
}
