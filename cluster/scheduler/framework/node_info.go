package framework

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/client"
	"kviz/cluster/trace"
)

// PodInfo is a pod with what the scheduler needs to know of it all the time.
type PodInfo struct {
	Pod      *corev1.Pod
	Key      string    // "namespace/name"
	Ref      trace.Ref // for the trace
	Requests Resource
	NonZero  Resource
	Ports    []corev1.ContainerPort // with a host port
	Affinity *PodAffinity           // to other pods; nil if it has none
	kind     string                 // see [PodKind]
}

// NewPodInfo computes a pod's sums.
func NewPodInfo(pod *corev1.Pod) *PodInfo {
	return &PodInfo{
		Pod: pod, Key: PodKey(pod), Ref: client.RefOf(pod), Requests: PodRequests(pod), NonZero: NonZeroRequests(pod), Ports: HostPorts(pod),
		Affinity: NewPodAffinity(pod), kind: kindOf(pod),
	}
}

// With is the same pod in another state, with sums that are known to be still
// right.
func (p *PodInfo) With(pod *corev1.Pod) *PodInfo {
	same := *p
	same.Pod = pod
	if !sameKind(p.Pod, pod) {
		same.kind = kindOf(pod)
	}
	return &same
}

// NodeInfo is a node as the scheduler sees it: the object, the pods on it
// (assumed ones included) and their sums, which are kept up to date one pod at
// a time so that no plugin ever adds up pods.
//
// What plugins ask of every node lies in the NodeInfo itself and comes first: a
// cycle looks at hundreds of nodes, and mostly waits for memory.
//
// Mirrors pkg/scheduler/framework/types.go NodeInfo.
type NodeInfo struct {
	Node             *corev1.Node // nil when the node is gone and pods of it are not
	Taints           []corev1.Taint
	Unschedulable    bool
	PodCount         int // of Pods
	Slot             int // a small number that no other node of the cluster has now
	Requested        Resource
	Allocatable      Resource
	NonZeroRequested Resource // sum of NonZero; Requested is that of Requests
	Pods             map[string]*PodInfo
	UsedPorts        HostPortInfo
	// PodsWithRequiredAntiAffinity are those of Pods that keep others away.
	PodsWithRequiredAntiAffinity []*PodInfo
}

// ImageState is an image as the nodes report it, by its normalised name.
type ImageState struct {
	Size  int64
	Nodes int      // how many nodes have it
	slots []uint64 // which: a bit each
}

// Add notes that the node has the image.
func (s *ImageState) Add(n *NodeInfo) {
	for len(s.slots) <= n.Slot/64 {
		s.slots = append(s.slots, 0)
	}
	if !s.On(n) {
		s.slots[n.Slot/64] |= 1 << (n.Slot % 64)
		s.Nodes++
	}
}

// Remove notes that the node has it no more.
func (s *ImageState) Remove(n *NodeInfo) {
	if s.On(n) {
		s.slots[n.Slot/64] &^= 1 << (n.Slot % 64)
		s.Nodes--
	}
}

// On reports whether the node has the image.
func (s *ImageState) On(n *NodeInfo) bool {
	return n.Slot/64 < len(s.slots) && s.slots[n.Slot/64]&(1<<(n.Slot%64)) != 0
}

// NewNodeInfo is a node without pods; node may be nil.
func NewNodeInfo(node *corev1.Node) *NodeInfo {
	n := &NodeInfo{Pods: map[string]*PodInfo{}}
	if node != nil {
		n.SetNode(node)
	}
	return n
}

// SetNode takes in the node's newest state.
func (n *NodeInfo) SetNode(node *corev1.Node) {
	n.Node, n.Taints, n.Unschedulable = node, node.Spec.Taints, node.Spec.Unschedulable
	n.Allocatable = NewResource(node.Status.Allocatable)
}

// AddPod counts a pod in. The pod must not be counted already.
func (n *NodeInfo) AddPod(p *PodInfo) {
	n.Pods[p.Key] = p
	n.PodCount = len(n.Pods)
	if p.Affinity != nil && len(p.Affinity.RequiredAnti) > 0 {
		n.PodsWithRequiredAntiAffinity = append(n.PodsWithRequiredAntiAffinity, p)
	}
	n.count(p, 1)
}

// RemovePod counts a pod out and reports whether it was there.
func (n *NodeInfo) RemovePod(key string) bool {
	p, ok := n.Pods[key]
	if !ok {
		return false
	}
	delete(n.Pods, key)
	n.PodCount = len(n.Pods)
	if p.Affinity != nil {
		n.PodsWithRequiredAntiAffinity = slices.DeleteFunc(n.PodsWithRequiredAntiAffinity, func(q *PodInfo) bool { return q == p })
	}
	n.count(p, -1)
	return true
}

func (n *NodeInfo) count(p *PodInfo, sign int64) {
	n.Requested.add(&p.Requests, sign)
	n.NonZeroRequested.add(&p.NonZero, sign)
	for _, port := range p.Ports {
		if sign > 0 {
			n.UsedPorts.Add(port)
		} else {
			n.UsedPorts.Remove(port)
		}
	}
}

// Clone is a copy in which pods can be moved about without harm to the
// original.
func (n *NodeInfo) Clone() *NodeInfo {
	c := *n
	c.Pods = maps.Clone(n.Pods)
	c.Requested.ScalarResources = maps.Clone(n.Requested.ScalarResources)
	c.NonZeroRequested.ScalarResources = maps.Clone(n.NonZeroRequested.ScalarResources)
	c.UsedPorts.used = maps.Clone(n.UsedPorts.used)
	c.PodsWithRequiredAntiAffinity = slices.Clone(n.PodsWithRequiredAntiAffinity)
	return &c
}

// PodKey is "namespace/name".
func PodKey(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name }
