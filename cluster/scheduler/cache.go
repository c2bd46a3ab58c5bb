package scheduler

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"kviz/cluster/scheduler/framework"
)

// cache is the scheduler's picture of the cluster: what the informers told, and
// on top of it the pods it has assumed: decided on, but not yet seen bound. So
// the next pod is scheduled at once, as if the binding had already happened.
//
// A cycle computes at one instant of virtual time, so it reads the cache
// itself where upstream takes a snapshot.
//
// Mirrors pkg/scheduler/backend/cache/cache.go cacheImpl.
type cache struct {
	nodes  map[string]*framework.NodeInfo
	order  nodeOrder
	pods   map[string]cachedPod // on nodes, assumed ones included; by key
	images map[string]*framework.ImageState
	claims map[string]int // how often the pods name each claim; by key
	kinds  framework.PodKinds
	// topologies are those of the labels that pods spread over, until a node or its labels change.
	topologies map[string]*framework.Topology
	slots      int   // given to nodes so far
	free       []int // slots of nodes that are gone
	spare      []framework.NodeInfo
}

// together is how many nodes lie side by side in memory: filters go through hundreds of
// them for a pod, and waited for the memory of each when they lay about.
const together = 64

type cachedPod struct {
	info    *framework.PodInfo
	assumed bool
}

func newCache() *cache {
	return &cache{
		nodes: map[string]*framework.NodeInfo{}, pods: map[string]cachedPod{}, images: map[string]*framework.ImageState{}, claims: map[string]int{},
		topologies: map[string]*framework.Topology{},
	}
}

// list is the nodes in the order in which they are tried: one of each zone in
// turn. Callers must not change it.
func (c *cache) list() []*framework.NodeInfo { return c.order.list(c.nodes) }

// manyTopologies is how many of them are kept: what pods name is up to their authors.
const manyTopologies = 64

// topology is that of a label.
func (c *cache) topology(key string) *framework.Topology {
	t := c.topologies[key]
	if t == nil {
		if len(c.topologies) == manyTopologies {
			clear(c.topologies)
		}
		t = framework.NewTopology(key, c.list())
		c.topologies[key] = t
	}
	return t
}

// claimed counts the claims of pods as they come and go.
func (c *cache) claimed(p *framework.PodInfo, n int) {
	for i := range p.Pod.Spec.Volumes {
		claim := p.Pod.Spec.Volumes[i].PersistentVolumeClaim
		if claim == nil {
			continue
		}
		key := p.Pod.Namespace + "/" + claim.ClaimName
		if c.claims[key] += n; c.claims[key] == 0 {
			delete(c.claims, key)
		}
	}
}

func (c *cache) node(name string) *framework.NodeInfo {
	n, ok := c.nodes[name]
	if !ok {
		if len(c.spare) == 0 {
			c.spare = make([]framework.NodeInfo, together)
		}
		n, c.spare = &c.spare[0], c.spare[1:]
		n.Pods = map[string]*framework.PodInfo{}
		if last := len(c.free) - 1; last >= 0 {
			n.Slot, c.free = c.free[last], c.free[:last]
		} else {
			n.Slot, c.slots = c.slots, c.slots+1
		}
		c.nodes[name] = n
	}
	return n
}

// drop forgets a node once nothing of it is left.
func (c *cache) drop(name string, n *framework.NodeInfo) {
	if n.Node == nil && len(n.Pods) == 0 {
		delete(c.nodes, name)
		c.free = append(c.free, n.Slot)
	}
}

// setNode takes in a new or changed node.
func (c *cache) setNode(node *corev1.Node) {
	n := c.node(node.Name)
	if n.Node != nil {
		c.dropImages(n)
	}
	if n.Node == nil || zoneOf(n.Node) != zoneOf(node) {
		if n.Node != nil {
			c.order.remove(n.Node)
		}
		c.order.add(node)
	}
	if n.Node == nil || !maps.Equal(n.Node.Labels, node.Labels) {
		clear(c.topologies)
	}
	n.SetNode(node)
	for _, image := range node.Status.Images {
		for _, name := range image.Names {
			s, ok := c.images[name]
			if !ok {
				s = &framework.ImageState{Size: image.SizeBytes}
				c.images[name] = s
			}
			s.Add(n)
		}
	}
}

func (c *cache) dropImages(n *framework.NodeInfo) {
	for _, image := range n.Node.Status.Images {
		for _, name := range image.Names {
			s := c.images[name]
			if s == nil {
				continue
			}
			if s.Remove(n); s.Nodes == 0 {
				delete(c.images, name)
			}
		}
	}
}

// removeNode forgets a node; its pods are forgotten one by one as they go.
func (c *cache) removeNode(node *corev1.Node) {
	n, ok := c.nodes[node.Name]
	if !ok || n.Node == nil {
		return
	}
	c.order.remove(n.Node)
	c.dropImages(n)
	clear(c.topologies)
	n.Node = nil
	c.drop(node.Name, n)
}

// assume counts a pod on a node as if it were bound.
func (c *cache) assume(info *framework.PodInfo, nodeName string) *corev1.Pod {
	pod := *info.Pod // the rest is shared: nobody changes it
	pod.Spec.NodeName = nodeName
	c.put(info.With(&pod), true)
	return &pod
}

// forget takes back an assumption.
func (c *cache) forget(pod *corev1.Pod) {
	if p, ok := c.pods[framework.PodKey(pod)]; ok && p.assumed && p.info.Pod.UID == pod.UID {
		c.remove(pod)
	}
}

func (c *cache) isAssumed(pod *corev1.Pod) bool {
	p, ok := c.pods[framework.PodKey(pod)]
	return ok && p.assumed && p.info.Pod.UID == pod.UID
}

// setPod takes in a pod on a node as the API server has it, which confirms an
// assumption or corrects it.
func (c *cache) setPod(pod *corev1.Pod) {
	if old, ok := c.pods[framework.PodKey(pod)]; ok && sameRequests(old.info.Pod, pod) {
		c.put(old.info.With(pod), false)
		return
	}
	c.put(framework.NewPodInfo(pod), false)
}

// sameRequests reports whether a pod's requests can only be what they were: its
// containers ask for the same, and its kubelet reports nothing else.
func sameRequests(old, pod *corev1.Pod) bool {
	if old.UID != pod.UID || len(old.Spec.Containers) != len(pod.Spec.Containers) || len(pod.Spec.InitContainers) > 0 || pod.Spec.Resources != nil {
		return false
	}
	// After a write of the status alone the spec is the very same.
	shared := len(pod.Spec.Containers) > 0 && &old.Spec.Containers[0] == &pod.Spec.Containers[0]
	for i := range pod.Spec.Containers {
		if !shared && !equality.Semantic.DeepEqual(old.Spec.Containers[i].Resources, pod.Spec.Containers[i].Resources) {
			return false
		}
	}
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Resources != nil {
			return false
		}
	}
	return true
}

func (c *cache) put(info *framework.PodInfo, assumed bool) {
	c.remove(info.Pod)
	c.pods[info.Key] = cachedPod{info, assumed}
	n := c.node(info.Pod.Spec.NodeName)
	n.AddPod(info)
	c.kinds.Add(info, n)
	c.claimed(info, 1)
}

// remove counts a pod out, wherever the cache has it.
func (c *cache) remove(pod *corev1.Pod) {
	key := framework.PodKey(pod)
	old, ok := c.pods[key]
	if !ok {
		return
	}
	delete(c.pods, key)
	name := old.info.Pod.Spec.NodeName
	n := c.nodes[name]
	n.RemovePod(key)
	c.kinds.Remove(old.info, n)
	c.claimed(old.info, -1)
	c.drop(name, n)
}
