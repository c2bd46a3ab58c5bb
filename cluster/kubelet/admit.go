package kubelet

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// admit asks whether the pod can run on this node at all
// (pkg/kubelet/lifecycle/predicate.go): the scheduler may have been wrong, or
// somebody wrote spec.nodeName by hand. A refused pod is Failed, and nobody
// schedules it again.
func (w *worker) admit(t *sim.Task) bool {
	reason, message := w.refusal(w.kl.node.object())
	if reason == reasonAffinity {
		// Somebody may have labelled the node: ask before refusing.
		if node, err := client.Get[*corev1.Node](t, w.kl.c, client.Nodes, "", w.kl.cfg.Node); err == nil {
			reason, message = w.refusal(node)
		}
	}
	e := &trace.PodSync{Node: w.kl.cfg.Node, Pod: w.key(), Work: "admitted", Reason: reason, Note: message}
	if reason != "" {
		e.Work = "refused"
	}
	t.SetCauses(t.Emit(trace.Event{Kind: trace.PodAdmit, Object: client.RefOf(w.pod), Payload: e}))
	if reason == "" {
		return true
	}
	w.rejected = true
	w.kl.event(t, w.pod, corev1.EventTypeWarning, reason, "%s", message)
	now := metav1.NewTime(t.Now()).Rfc3339Copy()
	w.setStatus(t, corev1.PodStatus{
		Phase: corev1.PodFailed, Reason: reason, Message: "Pod was rejected: " + message, QOSClass: qosOf(w.pod),
		StartTime: &now, ObservedGeneration: w.pod.Generation, Conditions: w.pod.Status.Conditions,
	})
	return false
}

// reasonAffinity is a pod whose node selector or affinity means other nodes.
const reasonAffinity = "NodeAffinity"

// refusal says why the node cannot run the pod, "" if it can (predicate.go
// generalFilter).
func (w *worker) refusal(node *corev1.Node) (reason, message string) {
	kl := w.kl
	if ok, err := nodeaffinity.GetRequiredNodeAffinity(w.pod).Match(node); err != nil || !ok {
		return reasonAffinity, "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
	}
	used, pods, taken := corev1.ResourceList{}, int64(0), []hostPort(nil)
	for _, o := range kl.sortedWorkers() {
		if o != w && o.admitted && !o.rejected && o.phase == syncing {
			addRequests(used, o.pod)
			taken = append(taken, hostPorts(o.pod)...)
			pods++
		}
	}
	if pods+1 > kl.cfg.Pods {
		return "OutOfpods", fmt.Sprintf("Node didn't have enough resource: pods, requested: 1, used: %d, capacity: %d", pods, kl.cfg.Pods)
	}
	want := corev1.ResourceList{}
	addRequests(want, w.pod)
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		req, has := want[name]
		if !has || req.IsZero() {
			continue
		}
		cap, u := node.Status.Allocatable[name], used[name]
		amount := func(q resource.Quantity) int64 {
			if name == corev1.ResourceCPU {
				return q.MilliValue()
			}
			return q.Value()
		}
		if amount(req)+amount(u) > amount(cap) {
			return "OutOf" + string(name), fmt.Sprintf("Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d", name, amount(req), amount(u), amount(cap))
		}
	}
	for _, p := range hostPorts(w.pod) {
		if slices.ContainsFunc(taken, p.conflicts) {
			return "NodePorts", "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
		}
	}
	return "", ""
}

// hostPort is a port of the node that a container asks for.
type hostPort struct {
	ip       string
	protocol corev1.Protocol
	port     int32
}

// hostPorts are those of a pod's containers, and of its sidecars
// (pkg/scheduler/util GetHostPorts).
func hostPorts(pod *corev1.Pod) (all []hostPort) {
	of := func(c *corev1.Container) {
		for _, p := range c.Ports {
			if p.HostPort > 0 {
				all = append(all, hostPort{cmp.Or(p.HostIP, anyIP), cmp.Or(p.Protocol, corev1.ProtocolTCP), p.HostPort})
			}
		}
	}
	for i := range pod.Spec.Containers {
		of(&pod.Spec.Containers[i])
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; isSidecar(c) {
			of(c)
		}
	}
	return all
}

const anyIP = "0.0.0.0"

// conflicts is whether two cannot both be had (HostPortInfo.CheckConflict).
func (p hostPort) conflicts(o hostPort) bool {
	return p.port == o.port && p.protocol == o.protocol && (p.ip == o.ip || p.ip == anyIP || o.ip == anyIP)
}

// addRequests adds what a pod asks for: its containers' sum, or its greediest
// init container (component-helpers resource PodRequests).
func addRequests(sum corev1.ResourceList, pod *corev1.Pod) {
	need := corev1.ResourceList{}
	for i := range pod.Spec.Containers {
		add(need, pod.Spec.Containers[i].Resources.Requests)
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if isSidecar(c) {
			add(need, c.Resources.Requests)
			continue
		}
		for name, q := range c.Resources.Requests {
			if have := need[name]; q.Cmp(have) > 0 {
				need[name] = q
			}
		}
	}
	add(sum, need)
	add(sum, pod.Spec.Overhead)
}

func add(sum, more corev1.ResourceList) {
	for name, q := range more {
		have := sum[name]
		have.Add(q)
		sum[name] = have
	}
}
