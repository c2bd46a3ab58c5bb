// Package whatif answers what would have to change for a pod to fit on a node that
// rejects it: the filters themselves are run again on changed copies of the node,
// until the smallest set of changes is found.
//
// Nothing here knows what a plugin wants. candidates.go lists what could be different about a
// node: its cordon, taints, labels, pods, room. Either the pod fits with all of it changed, or
// no change of the node helps. Then the changes are undone one by one, and each stays undone if
// the pod still fits. What remains is necessary, and amounts are narrowed down to the last
// thousandth of a core and the last byte. Upstream has nothing like it.
//
// Start reading at [Node].
package whatif

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	v1helper "k8s.io/component-helpers/scheduling/corev1"

	"kviz/cluster/scheduler/framework"
	"kviz/cluster/trace"
)

// Ask has the filters judge a node for a pod; nil means that it fits.
type Ask func(pod *framework.PodInfo, node *framework.NodeInfo) *framework.Status

// Node is the least that would have to change for the pod to fit on the node.
func Node(ask Ask, pod *framework.PodInfo, node *framework.NodeInfo) Change {
	best := Change{Node: node.Node.Name, Never: ask(pod, node).Message()}
	for _, all := range alternatives(pod, node) {
		s := &search{ask: ask, pod: pod, node: node, on: all}
		if !s.fits() {
			continue
		}
		if c := s.least(); best.Never != "" || Compare(&c, &best) < 0 {
			best = c
		}
	}
	return best
}

// Change is what would have to be otherwise on one node, all of it together.
type Change struct {
	Node  string
	Never string // why no change of the node helps; "" if one does

	steps []*candidate
	room  bool     // some of it is more room
	evict []string // the pods whose going makes the same room; nil if there are none
	part  int64    // the room that lacks, in thousandths of what the node has
}

// Apply makes the change on a copy of the node.
func (c *Change) Apply(node *framework.NodeInfo) *framework.NodeInfo {
	return with(node, c.steps)
}

// Evict is the pods whose going makes the room that lacks, if there is no more of it.
func (c *Change) Evict() []string { return c.evict }

// Amounts is how much more of each resource there has to be.
func (c *Change) Amounts() map[corev1.ResourceName]int64 {
	amounts := map[corev1.ResourceName]int64{}
	for _, s := range c.steps {
		if s.kind == room {
			amounts[s.resource] = s.more
		}
	}
	return amounts
}

// Told is the change in words, for the trace.
func (c *Change) Told(pod *framework.PodInfo, node *framework.NodeInfo) trace.NodeChange {
	told := trace.NodeChange{Node: c.Node, Never: c.Never, Evict: c.evict}
	for _, s := range c.steps {
		told.Steps = append(told.Steps, s.tell(pod, node))
	}
	return told
}

// Compare orders changes by how small they are: fewer steps first, then what is done with one
// command, then the smaller part of the node.
func Compare(a, b *Change) int {
	if never := func(c *Change) int {
		if c.Never != "" {
			return 1
		}
		return 0
	}; never(a) != never(b) {
		return never(a) - never(b)
	}
	if d := len(a.steps) - len(b.steps); d != 0 {
		return d
	}
	hardest := func(c *Change) (k kind) {
		for _, s := range c.steps {
			k = max(k, s.kind)
		}
		return k
	}
	if d := hardest(a) - hardest(b); d != 0 {
		return int(d)
	}
	if a.part != b.part {
		return int(min(max(a.part-b.part, -1), 1))
	}
	return strings.Compare(a.Node, b.Node)
}

// search is a pod, and a node with the changes made so far.
type search struct {
	ask  Ask
	pod  *framework.PodInfo
	node *framework.NodeInfo
	on   []*candidate
}

func (s *search) fits() bool { return s.ask(s.pod, with(s.node, s.on)) == nil }

// without reports whether the pod still fits when some of it is as it was, and then
// leaves it so.
func (s *search) without(back ...*candidate) bool {
	all := s.on
	s.on = slices.DeleteFunc(slices.Clone(all), func(c *candidate) bool { return slices.Contains(back, c) })
	if s.fits() {
		return true
	}
	s.on = all
	return false
}

// least puts back what need not be otherwise, what is hardest to change first, and then
// finds the amounts.
func (s *search) least() Change {
	all := slices.Clone(s.on)
	slices.SortStableFunc(all, func(a, b *candidate) int { return int(b.kind - a.kind) })
	if pods := slices.DeleteFunc(slices.Clone(all), func(c *candidate) bool { return c.kind != gone }); !s.without(pods...) {
		for _, c := range pods {
			s.without(c)
		}
	}
	for _, c := range all {
		if c.kind != gone {
			s.without(c)
		}
	}
	// What was needed need not be any more: a label moves a node to other pods.
	for again := true; again; {
		again = slices.ContainsFunc(s.on, func(c *candidate) bool { return s.without(c) })
	}
	slices.SortStableFunc(s.on, func(a, b *candidate) int { return int(a.kind - b.kind) })
	c := Change{Node: s.node.Node.Name, steps: s.on}
	for _, step := range s.on {
		if step.kind == room {
			c.room = true
			s.amount(step)
			c.part = max(c.part, step.part(s.node))
		}
	}
	if c.room {
		c.evict = s.instead()
	}
	return c
}

// amount finds how much more of a resource is enough: from the first power of two that is,
// by halves.
func (s *search) amount(step *candidate) {
	enough := int64(1)
	for step.more = enough; !s.fits(); step.more = enough {
		if enough > unlimited/2 {
			return
		}
		enough *= 2
	}
	for low := int64(0); enough-low > 1; { // low is too little, enough is not
		step.more = low + (enough-low)/2
		if s.fits() {
			enough = step.more
		} else {
			low = step.more
		}
	}
	step.more = enough
}

// instead is the fewest pods whose going makes room, with everything else that has to
// change: one if one does, else those of the lowest priority and the most requests for which there is no
// other way; nil if the node is too small even without pods.
func (s *search) instead() []string {
	rest := slices.DeleteFunc(slices.Clone(s.on), func(c *candidate) bool { return c.kind == room })
	bare := with(s.node, rest).Clone()
	pods := evictable(bare)
	for _, p := range pods { // of those that suffice alone the one that is missed least
		bare.RemovePod(p.Key)
		alone := s.ask(s.pod, bare) == nil
		bare.AddPod(p)
		if alone {
			return []string{p.Key}
		}
	}
	slices.SortStableFunc(pods, func(a, b *framework.PodInfo) int {
		if d := v1helper.PodPriority(a.Pod) - v1helper.PodPriority(b.Pod); d != 0 {
			return int(min(max(d, -1), 1))
		}
		return weight(b, s.node, s.pod) - weight(a, s.node, s.pod)
	})
	n := 0
	for ; n < len(pods) && s.ask(s.pod, without(bare, pods[:n]...)) != nil; n++ {
	}
	if s.ask(s.pod, without(bare, pods[:n]...)) != nil {
		return nil
	}
	going := slices.Clone(pods[:n])
	for _, p := range pods[:n] {
		if kept := slices.DeleteFunc(slices.Clone(going), func(q *framework.PodInfo) bool { return q == p }); s.ask(s.pod, without(bare, kept...)) == nil {
			going = kept
		}
	}
	keys := make([]string, 0, len(going))
	for _, p := range going {
		keys = append(keys, p.Key)
	}
	slices.Sort(keys)
	return keys
}

// without is a copy of the node without some of its pods.
func without(node *framework.NodeInfo, pods ...*framework.PodInfo) *framework.NodeInfo {
	n := node.Clone()
	for _, p := range pods {
		n.RemovePod(p.Key)
	}
	return n
}

// evictable are the pods that can go, those that are missed least first: of the lowest priority, and
// of these the smallest. The pods of files on the node's own disk come back whatever one does.
func evictable(node *framework.NodeInfo) []*framework.PodInfo {
	pods := make([]*framework.PodInfo, 0, len(node.Pods))
	for _, p := range node.Pods {
		if _, mirror := p.Pod.Annotations[corev1.MirrorPodAnnotationKey]; !mirror && p.Pod.DeletionTimestamp == nil {
			pods = append(pods, p)
		}
	}
	slices.SortFunc(pods, func(a, b *framework.PodInfo) int {
		if pa, pb := v1helper.PodPriority(a.Pod), v1helper.PodPriority(b.Pod); pa != pb {
			return int(min(max(int64(pa)-int64(pb), -1), 1))
		}
		if d := weight(a, node, nil) - weight(b, node, nil); d != 0 {
			return d
		}
		return strings.Compare(a.Key, b.Key)
	})
	return pods
}

// weight is the greatest part of the node that a pod requests, in thousandths; of what somebody
// else wants only, if that is given.
func weight(p *framework.PodInfo, node *framework.NodeInfo, wants *framework.PodInfo) int {
	w := int64(0)
	if wants == nil || wants.Requests.MilliCPU > 0 {
		w = part(p.Requests.MilliCPU, node.Allocatable.MilliCPU)
	}
	if wants == nil || wants.Requests.Memory > 0 {
		w = max(w, part(p.Requests.Memory, node.Allocatable.Memory))
	}
	return int(w)
}
