package scheduler_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kviz/cluster/client/clienttest"
	"kviz/cluster/scheduler"
	"kviz/cluster/scheduler/framework"
	"kviz/cluster/sim"
)

// witness is a Reserve plugin that judges each node that a pod gets, by nothing but what the scheduler
// knows at that moment: the nodes, and the pods that it counts on them. It adds up afresh what plugins
// keep sums of, and counts what it has judged.
type witness struct {
	sched  *scheduler.Scheduler
	broken []string // what was, which the test tells: a scheduler survives what a plugin panics with
	did    map[string]int
}

// start starts a scheduler of two profiles with the witness in both.
func (w *witness) start(b *clienttest.Bench) *env {
	e := start(b, scheduler.Config{Configuration: configured("two-profiles.yaml"), Plugins: []framework.Plugin{w}})
	w.sched = e.sched
	return e
}

func (w *witness) errorf(format string, args ...any) {
	w.broken = append(w.broken, fmt.Sprintf(format, args...))
}

func (*witness) Name() string { return "Witness" }

func (*witness) Unreserve(*sim.Task, *framework.CycleState, *corev1.Pod, string) {}

// The witness judges at Reserve only as long as it is such a plugin.
var _ framework.ReservePlugin = (*witness)(nil)

func (w *witness) Reserve(_ *framework.CycleState, pod *corev1.Pod, name string) *framework.Status {
	w.did["profile "+pod.Spec.SchedulerName]++
	var node *corev1.Node
	var there []*corev1.Pod // all pods, this one left out
	on := map[string]*corev1.Node{}
	for _, n := range w.sched.Nodes() {
		for _, p := range n.Pods {
			if p.Pod.Name != pod.Name {
				there = append(there, p.Pod)
			}
		}
		on[n.Node.Name] = n.Node
	}
	if node = on[name]; node == nil {
		w.errorf("%s got %s, which is not there", pod.Name, name)
		return nil
	}
	w.room(pod, node, there)
	w.node(pod, node)
	for _, other := range there {
		w.terms(pod, other, on, name)
	}
	w.near(pod, node, there, on)
	w.spread(pod, node, there, on)
	return nil
}

// room judges cpu and host ports.
func (w *witness) room(pod *corev1.Pod, node *corev1.Node, there []*corev1.Pod) {
	left := node.Status.Allocatable.Cpu().MilliValue() - cpu(pod)
	for _, p := range there {
		if p.Spec.NodeName != node.Name {
			continue
		}
		left -= cpu(p)
		if len(pod.Spec.Containers[0].Ports) > 0 && len(p.Spec.Containers[0].Ports) > 0 {
			w.errorf("%s got %s, where %s has its port", pod.Name, node.Name, p.Name)
		}
	}
	if left < 0 {
		w.errorf("%s got %s, which lacks %dm", pod.Name, node.Name, -left)
	}
	w.did["port"] += len(pod.Spec.Containers[0].Ports)
	w.did["claim"] += len(pod.Spec.Volumes)
}

func cpu(p *corev1.Pod) int64 { return p.Spec.Containers[0].Resources.Requests.Cpu().MilliValue() }

// node judges labels and taints.
func (w *witness) node(pod *corev1.Pod, node *corev1.Node) {
	if pod.Spec.NodeSelector != nil {
		w.did["selector"]++
	}
	if !labels.SelectorFromSet(pod.Spec.NodeSelector).Matches(labels.Set(node.Labels)) {
		w.errorf("%s got %s, and wants %v", pod.Name, node.Name, pod.Spec.NodeSelector)
	}
	for _, taint := range node.Spec.Taints {
		w.did["taint"]++
		if len(pod.Spec.Tolerations) == 0 {
			w.errorf("%s got %s, whose taint %s it does not tolerate", pod.Name, node.Name, taint.ToString())
		}
	}
}

// terms judges what two pods have against each other.
func (w *witness) terms(pod, other *corev1.Pod, on map[string]*corev1.Node, name string) {
	here, there := on[name], on[other.Spec.NodeName]
	if there == nil {
		return
	}
	for _, pair := range [][2]*corev1.Pod{{pod, other}, {other, pod}} {
		of, about := pair[0], pair[1]
		if of.Spec.Affinity == nil || of.Spec.Affinity.PodAntiAffinity == nil {
			continue
		}
		w.did["anti-affinity"]++
		for _, t := range of.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			if together(here, there, t.TopologyKey) && labels.SelectorFromSet(t.LabelSelector.MatchLabels).Matches(labels.Set(about.Labels)) {
				w.errorf("%s got %s, and %s does not want %s by %s", pod.Name, name, of.Name, about.Name, t.TopologyKey)
			}
		}
	}
}

// near judges affinity: one of those that the pod wants is near, or it is the first of its own group.
func (w *witness) near(pod *corev1.Pod, node *corev1.Node, there []*corev1.Pod, on map[string]*corev1.Node) {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAffinity == nil {
		return
	}
	for _, t := range pod.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		any, near := false, false
		for _, p := range there {
			n := on[p.Spec.NodeName]
			if n == nil || !labels.SelectorFromSet(t.LabelSelector.MatchLabels).Matches(labels.Set(p.Labels)) {
				continue
			}
			_, labelled := n.Labels[t.TopologyKey]
			any = any || labelled
			near = near || together(node, n, t.TopologyKey)
		}
		if any {
			w.did["affinity"]++
		}
		if any && !near {
			w.errorf("%s got %s, and those that it wants are not near by %s", pod.Name, node.Name, t.TopologyKey)
		}
	}
}

// spread judges topology spread, with the pod already where it goes.
func (w *witness) spread(pod *corev1.Pod, node *corev1.Node, there []*corev1.Pod, on map[string]*corev1.Node) {
	for _, c := range pod.Spec.TopologySpreadConstraints {
		pods := map[string]int{}
		eligible := func(n *corev1.Node) bool {
			return n != nil && n.Labels[c.TopologyKey] != "" && labels.SelectorFromSet(pod.Spec.NodeSelector).Matches(labels.Set(n.Labels))
		}
		for _, n := range on {
			if eligible(n) {
				pods[n.Labels[c.TopologyKey]] = 0
			}
		}
		for _, p := range there {
			if n := on[p.Spec.NodeName]; eligible(n) && p.DeletionTimestamp == nil && labels.SelectorFromSet(c.LabelSelector.MatchLabels).Matches(labels.Set(p.Labels)) {
				pods[n.Labels[c.TopologyKey]]++
			}
		}
		least := pods[node.Labels[c.TopologyKey]]
		for _, n := range pods {
			least = min(least, n)
		}
		w.did["spread"]++
		if skew := pods[node.Labels[c.TopologyKey]] + 1 - least; skew > int(c.MaxSkew) {
			w.errorf("%s got %s, where the skew by %s is %d", pod.Name, node.Name, c.TopologyKey, skew)
		}
	}
}

// together reports whether two nodes have the same value of a label.
func together(a, b *corev1.Node, key string) bool {
	x, ok := a.Labels[key]
	y, too := b.Labels[key]
	return ok && too && x == y
}
