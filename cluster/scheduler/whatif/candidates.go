package whatif

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/scheduler/framework"
)

// kind is what sort of thing is otherwise, in the order of how hard it is to change.
type kind int

const (
	cordon kind = iota
	taint
	label
	room // more of a resource
	gone // a pod that is not there
)

// unlimited is more of anything than a pod can ask for.
const unlimited = int64(1) << 50

// candidate is one thing of a node that could be otherwise.
type candidate struct {
	kind     kind
	taints   []corev1.Taint // of kind taint
	key      string         // of kind label
	value    *string        // what the label is to be; nil: not there
	pod      string         // of kind gone
	resource corev1.ResourceName
	more     int64 // of kind room
}

// alternatives are the ways in which everything of a node that a pod could mind is
// otherwise: one, or one for each term of the pod's node affinity, for any of these would do;
// and the same without the going of pods that it wants to be near.
func alternatives(info *framework.PodInfo, node *framework.NodeInfo) [][]*candidate {
	ways := byTerm(info, node)
	if info.Affinity != nil && len(info.Affinity.Required) > 0 {
		for _, way := range slices.Clone(ways) {
			ways = append(ways, slices.DeleteFunc(slices.Clone(way), func(c *candidate) bool {
				return c.kind == gone && wants(info, node.Pods[c.pod].Pod)
			}))
		}
	}
	for _, way := range ways { // each finds amounts of its own
		for i, c := range way {
			own := *c
			way[i] = &own
		}
	}
	return ways
}

// wants reports whether the pod's affinity is about another.
func wants(info *framework.PodInfo, other *corev1.Pod) bool {
	for i := range info.Affinity.Required {
		if !info.Affinity.Required[i].Matches(other, nil) {
			return false
		}
	}
	return true
}

// byTerm has a way for each term of the pod's node affinity.
func byTerm(info *framework.PodInfo, node *framework.NodeInfo) [][]*candidate {
	var common []*candidate
	pod, n := info.Pod, node.Node
	if node.Unschedulable {
		common = append(common, &candidate{kind: cordon})
	}
	for _, t := range node.Taints {
		if node.Unschedulable && t.Key == corev1.TaintNodeUnschedulable {
			continue // the cordon's, which goes with it
		}
		if i := slices.IndexFunc(common, func(c *candidate) bool {
			return c.kind == taint && c.taints[0].Key == t.Key && conditions[t.Key] != ""
		}); i >= 0 {
			common[i].taints = append(common[i].taints, t)
			continue
		}
		common = append(common, &candidate{kind: taint, taints: []corev1.Taint{t}})
	}
	for _, r := range wanted(&info.Requests) {
		common = append(common, &candidate{kind: room, resource: r, more: unlimited})
	}
	for _, key := range slices.Sorted(maps.Keys(node.Pods)) {
		common = append(common, &candidate{kind: gone, pod: key})
	}
	for _, key := range slices.Sorted(maps.Keys(pod.Spec.NodeSelector)) {
		value := pod.Spec.NodeSelector[key]
		if is, ok := n.Labels[key]; (!ok || is != value) && !fixed[key] {
			common = append(common, &candidate{kind: label, key: key, value: &value})
		}
	}
	a := pod.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return [][]*candidate{common}
	}
	var all [][]*candidate
	for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		way := slices.Clone(common)
		for _, r := range term.MatchExpressions {
			if c := toMatch(r, n.Labels); c != nil && !fixed[r.Key] {
				way = append(way, c)
			}
		}
		all = append(all, way)
	}
	return all
}

// fixed are labels that say what a machine is, and that nobody changes to have a pod fit.
var fixed = map[string]bool{corev1.LabelHostname: true, corev1.LabelOSStable: true, corev1.LabelArchStable: true}

// conditions are the taints that controllers keep, by what has to come to pass for them to
// go.
var conditions = map[string]string{
	corev1.TaintNodeNotReady:           "the node is Ready again",
	corev1.TaintNodeUnreachable:        "the node is reached again",
	corev1.TaintNodeMemoryPressure:     "the node has memory again",
	corev1.TaintNodeDiskPressure:       "the node has disk space again",
	corev1.TaintNodePIDPressure:        "the node has process IDs again",
	corev1.TaintNodeNetworkUnavailable: "the node's network is there",
}

// toMatch is the label that makes a requirement match, nil where it could be anything.
func toMatch(r corev1.NodeSelectorRequirement, labels map[string]string) *candidate {
	to := func(v string) *candidate { return &candidate{kind: label, key: r.Key, value: &v} }
	is, there := labels[r.Key]
	switch r.Operator {
	case corev1.NodeSelectorOpIn:
		if len(r.Values) > 0 && !(there && slices.Contains(r.Values, is)) {
			return to(r.Values[0])
		}
	case corev1.NodeSelectorOpExists:
		if !there {
			return to("")
		}
	case corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpDoesNotExist:
		if there {
			return &candidate{kind: label, key: r.Key}
		}
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		if len(r.Values) != 1 {
			return nil
		}
		bound, err := strconv.ParseInt(r.Values[0], 10, 64)
		if err != nil {
			return nil
		}
		if r.Operator == corev1.NodeSelectorOpGt {
			return to(strconv.FormatInt(bound+1, 10))
		}
		return to(strconv.FormatInt(bound-1, 10))
	}
	return nil
}

// wanted are the resources that a pod needs; a place among the node's pods is one of them.
func wanted(requests *framework.Resource) []corev1.ResourceName {
	names := []corev1.ResourceName{corev1.ResourcePods}
	for _, r := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		if amount(requests, r) > 0 {
			names = append(names, r)
		}
	}
	return append(names, slices.Sorted(maps.Keys(requests.ScalarResources))...)
}

func amount(r *framework.Resource, name corev1.ResourceName) int64 {
	switch name {
	case corev1.ResourcePods:
		return int64(r.AllowedPodNumber)
	case corev1.ResourceCPU:
		return r.MilliCPU
	case corev1.ResourceMemory:
		return r.Memory
	case corev1.ResourceEphemeralStorage:
		return r.EphemeralStorage
	}
	return r.ScalarResources[name]
}

// with is a copy of the node with the changes made. What does not change is shared: no
// filter modifies it.
func with(node *framework.NodeInfo, steps []*candidate) *framework.NodeInfo {
	n := *node
	if slices.ContainsFunc(steps, func(c *candidate) bool { return c.kind == gone }) {
		n = *node.Clone()
	}
	object := *node.Node
	labels, scalars := false, false
	for _, c := range steps {
		switch c.kind {
		case cordon:
			object.Spec.Unschedulable = false
			object.Spec.Taints = slices.DeleteFunc(slices.Clone(object.Spec.Taints), func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnschedulable })
		case taint:
			object.Spec.Taints = slices.DeleteFunc(slices.Clone(object.Spec.Taints), func(t corev1.Taint) bool {
				return slices.ContainsFunc(c.taints, func(off corev1.Taint) bool { return off.MatchTaint(&t) })
			})
		case label:
			if !labels {
				labels, object.Labels = true, maps.Clone(object.Labels)
			}
			if object.Labels == nil {
				object.Labels = map[string]string{}
			}
			if delete(object.Labels, c.key); c.value != nil {
				object.Labels[c.key] = *c.value
			}
		case room:
			if !scalars {
				scalars, n.Allocatable.ScalarResources = true, maps.Clone(n.Allocatable.ScalarResources)
			}
			grow(&n.Allocatable, c.resource, c.more)
		case gone:
			n.RemovePod(c.pod)
		}
	}
	n.Node, n.Taints, n.Unschedulable = &object, object.Spec.Taints, object.Spec.Unschedulable
	return &n
}

func grow(r *framework.Resource, name corev1.ResourceName, more int64) {
	switch name {
	case corev1.ResourcePods:
		r.AllowedPodNumber += int(more)
	case corev1.ResourceCPU:
		r.MilliCPU += more
	case corev1.ResourceMemory:
		r.Memory += more
	case corev1.ResourceEphemeralStorage:
		r.EphemeralStorage += more
	default:
		if r.ScalarResources == nil {
			r.ScalarResources = map[corev1.ResourceName]int64{}
		}
		r.ScalarResources[name] += more
	}
}

// part is how much more of a resource there has to be, in thousandths of what the node has.
func (c *candidate) part(node *framework.NodeInfo) int64 {
	return part(c.more, amount(&node.Allocatable, c.resource))
}

func part(of, all int64) int64 {
	if all <= 0 {
		return 1000
	}
	return int64(float64(of) / float64(all) * 1000)
}
