// Package load is what a person sets with kviz load: how much pods have to do, and what
// metrics say, each as a curve over time.
//
// In Kubernetes load comes from outside: clients send requests, and the metrics of containers and
// queues follow. Here the people who would send them set the outcome, in one syntax for a
// pod and for a workload. The load of a workload is that of all its pods together and is shared among
// those that are Ready, as requests to a Service are: so more pods do less each, and that is
// what an autoscaler acts upon. With --each every pod of the workload has all of it.
//
// Simplified: nobody sends requests; a load that no pod is Ready for is lost; of several figures for a
// pod that of the nearest target holds, the pod's own before its ReplicaSet's before its Deployment's.
//
// Start reading at [Curve]; [Set] finds what holds for a pod.
package load

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Containers, How: simulated.Simulated,
	What: "load is no traffic: kviz load sets what a pod or a workload uses over time, and what its metrics say",
	Seen: "kviz load, kubectl top",
})

// What a figure is of.
const (
	OfCPU      = "cpu"
	OfMemory   = "memory"
	OfMetric   = "metric"   // of pods, or of another object
	OfExternal = "external" // of nothing in the cluster
)

// MaxFigures is how many may be set at a time.
const MaxFigures = 256

// Key is what a figure is set for; there is one figure of each.
type Key struct {
	Kind, Namespace, Name string // the target; of an external metric only the namespace
	Container             string
	What, Metric, Labels  string
}

// Figure is a curve that is set.
type Figure struct {
	Key
	Each  bool
	Curve *Curve
	Since time.Duration // virtual time, from which the curve counts
	Event trace.ID      // load.set
}

// At is its value at a moment of virtual time, of all pods together unless each has it.
func (f *Figure) At(now time.Duration) int64 { return f.Curve.At(now - f.Since) }

// Text is the value then, as people read it.
func (f *Figure) Text(now time.Duration) string { return f.Curve.unit.Text(f.At(now)) }

// Target is the target in kubectl's words: deployment/web; "" for an external metric.
func (f *Figure) Target() string {
	if f.Kind == "" {
		return ""
	}
	return strings.ToLower(f.Kind) + "/" + f.Name
}

// Words is what it is, in a word or two: cpu, requests-per-second.
func (k Key) Words() string {
	switch k.What {
	case OfMetric:
		return k.Metric
	case OfExternal:
		if k.Labels != "" {
			return k.Metric + "{" + k.Labels + "}"
		}
		return k.Metric
	}
	return k.What
}

// Shared reports whether the figure is one for several pods that share it.
func (f *Figure) Shared() bool { return !f.Each && Workload(f.Kind) }

// Meaning says in a few words whose the value is.
func (f *Figure) Meaning() string {
	switch {
	case f.What == OfExternal:
		return "of an external metric"
	case Workload(f.Kind) && f.Each:
		return "each pod"
	case Workload(f.Kind):
		return "shared among its Ready pods"
	case f.Container != "":
		return "container " + f.Container
	}
	return ""
}

// Compare orders keys as they are listed.
func (k Key) Compare(o Key) int {
	return cmp.Or(
		cmp.Compare(k.Namespace, o.Namespace), cmp.Compare(k.Kind, o.Kind), cmp.Compare(k.Name, o.Name), cmp.Compare(k.Container, o.Container),
		cmp.Compare(k.What, o.What), cmp.Compare(k.Metric, o.Metric), cmp.Compare(k.Labels, o.Labels),
	)
}

// Kind is a kind of target.
type Kind struct {
	Kind, Group, Resource string
	Cluster               bool // without a namespace
	pods                  bool // its pods carry load
}

// APIVersion is the version in which it is named.
func (k Kind) APIVersion() string {
	if k.Group == "" {
		return "v1"
	}
	return k.Group + "/v1"
}

// Kinds are those that a target can be of.
var Kinds = []Kind{
	{Kind: "Pod", Resource: "pods", pods: true},
	{Kind: "Deployment", Group: "apps", Resource: "deployments", pods: true},
	{Kind: "StatefulSet", Group: "apps", Resource: "statefulsets", pods: true},
	{Kind: "DaemonSet", Group: "apps", Resource: "daemonsets", pods: true},
	{Kind: "ReplicaSet", Group: "apps", Resource: "replicasets", pods: true},
	{Kind: "ReplicationController", Resource: "replicationcontrollers", pods: true},
	{Kind: "Job", Group: "batch", Resource: "jobs", pods: true},
	{Kind: "CronJob", Group: "batch", Resource: "cronjobs", pods: true},
	{Kind: "Service", Resource: "services"},
	{Kind: "Ingress", Group: "networking.k8s.io", Resource: "ingresses"},
	{Kind: "Namespace", Resource: "namespaces", Cluster: true},
	{Kind: "Node", Resource: "nodes", Cluster: true},
}

// KindOf finds the kind of a resource; false if it is none of these.
func KindOf(resource string) (Kind, bool) {
	i := slices.IndexFunc(Kinds, func(k Kind) bool { return k.Resource == resource })
	if i < 0 {
		return Kind{}, false
	}
	return Kinds[i], true
}

// Carries reports whether pods of a kind, or the pod, can be given CPU and memory to use.
func Carries(kind string) bool {
	return slices.ContainsFunc(Kinds, func(k Kind) bool { return k.Kind == kind && k.pods })
}

// Workload reports whether a kind has pods, and is not one.
func Workload(kind string) bool { return kind != "Pod" && Carries(kind) }

// metricName is what a metric may be called: it is a part of a path.
var metricName = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9_.:-]{0,127}$`)

// Figures reads what is to be set, since a moment. Those without a curve are to be taken away.
func Figures(p *trace.Load, since time.Duration, event trace.ID) ([]Figure, error) {
	t := p.Target
	if len(p.Figures) > MaxFigures {
		return nil, fmt.Errorf("%d figures: at most %d can be set", len(p.Figures), MaxFigures)
	}
	var all []Figure
	for _, g := range p.Figures {
		f := Figure{
			Key:  Key{Kind: t.Kind, Namespace: t.Namespace, Name: t.Name, Container: p.Container, What: g.What, Metric: g.Name, Labels: g.Labels},
			Each: p.Each, Since: since, Event: event,
		}
		unit, err := f.check()
		if err != nil {
			return nil, err
		}
		if g.Curve != "" {
			if f.Curve, err = ParseCurve(unit, g.Curve); err != nil {
				return nil, fmt.Errorf("%s: %w", f.Words(), err)
			}
		}
		all = append(all, f)
	}
	return all, nil
}

// check says why a figure makes no sense, and puts its labels in order.
func (f *Figure) check() (Unit, error) {
	switch f.What {
	case OfCPU, OfMemory:
		if !Carries(f.Kind) {
			return 0, fmt.Errorf("only pods and workloads use %s, and %s is neither: it can have a --metric", f.What, f.Target())
		}
		if f.What == OfCPU {
			return CPU, nil
		}
		return Memory, nil
	case OfExternal:
		if f.Kind != "" || f.Each || f.Container != "" {
			return 0, errors.New("an external metric is about nothing in the cluster: it has no target, no --container and no --each")
		}
		set, err := labels.ConvertSelectorToLabelsMap(f.Labels)
		if err != nil {
			return 0, fmt.Errorf("labels %q: want KEY=VALUE,…: %w", f.Labels, err)
		}
		f.Labels = set.String()
	case OfMetric:
		switch {
		case f.Kind == "":
			return 0, errors.New("name what the metric is about: kviz load service/web --metric hits=10k")
		case f.Container != "":
			return 0, errors.New("a metric is one of the whole pod: leave out --container")
		case f.Each && !Workload(f.Kind):
			return 0, fmt.Errorf("--each is for the pods of a workload, and %s is none", f.Target())
		}
	default:
		return 0, fmt.Errorf("there is no load called %q: cpu, memory, metric or external", f.What)
	}
	if !metricName.MatchString(f.Metric) {
		return 0, fmt.Errorf("a metric cannot be called %q: want letters, digits, and . _ : - between them, at most 128", f.Metric)
	}
	return Metric, nil
}
