package descheduler

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// thresholds are percentages of what a node has.
type thresholds map[corev1.ResourceName]float64

// utilizationArgs are the arguments of LowNodeUtilization.
type utilizationArgs struct {
	metav1.TypeMeta        `json:",inline"`
	UseDeviationThresholds bool           `json:"useDeviationThresholds,omitempty"`
	Thresholds             thresholds     `json:"thresholds"`
	TargetThresholds       thresholds     `json:"targetThresholds"`
	NumberOfNodes          int            `json:"numberOfNodes,omitempty"`
	MetricsUtilization     map[string]any `json:"metricsUtilization,omitempty"`
	EvictableNamespaces    *namespaces    `json:"evictableNamespaces,omitempty"`
	EvictionLimits         *struct {
		Node *uint `json:"node,omitempty"`
	} `json:"evictionLimits,omitempty"`
}

// check is ValidateLowNodeUtilizationArgs.
func (a *utilizationArgs) check() error {
	if a.EvictableNamespaces != nil && len(a.EvictableNamespaces.Include) > 0 {
		return errors.New("only Exclude namespaces can be set, inclusion is not supported")
	}
	if err := a.Thresholds.check(); err != nil {
		return fmt.Errorf("thresholds config is not valid: %v", err)
	}
	if err := a.TargetThresholds.check(); err != nil {
		return fmt.Errorf("targetThresholds config is not valid: %v", err)
	}
	if len(a.Thresholds) != len(a.TargetThresholds) {
		return errors.New("thresholds and targetThresholds configured different resources")
	}
	for _, name := range a.Thresholds.names() {
		target, ok := a.TargetThresholds[name]
		if !ok {
			return errors.New("thresholds and targetThresholds configured different resources")
		}
		if a.Thresholds[name] > target && !a.UseDeviationThresholds {
			return fmt.Errorf("thresholds' %v percentage is greater than targetThresholds'", name)
		}
	}
	if len(a.MetricsUtilization) > 0 {
		return errors.New("metricsUtilization is not simulated: nodes are compared by what their pods request")
	}
	return nil
}

func (th thresholds) names() []corev1.ResourceName { return slices.Sorted(maps.Keys(th)) }

func (th thresholds) check() error {
	if len(th) == 0 {
		return errors.New("no resource threshold is configured")
	}
	for _, name := range th.names() {
		if th[name] < 0 || th[name] > 100 {
			return fmt.Errorf("%v threshold not in [%v, %v] range", name, 0, 100)
		}
	}
	return nil
}

// pairs are thresholds for a line of the log.
func (th thresholds) pairs() (pairs []any) {
	for _, name := range th.names() {
		pairs = append(pairs, name, fmt.Sprintf("%.2f%%", th[name]))
	}
	return pairs
}

// nodeUse is a node and what is used of it.
type nodeUse struct {
	node    *corev1.Node
	pods    []*corev1.Pod
	use     amounts
	percent thresholds
	limit   amounts // what it may be used up to
}

func lowNodeUtilization(raw []byte) (func(*turn, []*corev1.Node), error) {
	args := &utilizationArgs{}
	if err := strict(raw, args); err != nil {
		return nil, err
	}
	if err := args.check(); err != nil {
		return nil, err
	}
	return args.balance, nil
}

// balance evicts pods from overutilized nodes, as many as underutilized ones have room for.
//
// Mirrors pkg/framework/plugins/nodeutilization/lownodeutilization.go Balance.
func (a *utilizationArgs) balance(tn *turn, nodes []*corev1.Node) {
	names := a.Thresholds.names()
	for _, n := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods} {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	uses := make([]*nodeUse, 0, len(nodes))
	for _, n := range nodes {
		uses = append(uses, newNodeUse(n, tn.on(n.Name, nil), names))
	}
	low, high := a.Thresholds, a.TargetThresholds
	if a.UseDeviationThresholds {
		low, high = a.around(tn, uses)
	}
	var under, over, fair []*nodeUse
	for _, u := range uses {
		u.limit = u.capped(high, names)
		switch {
		case u.percent.below(low) && u.node.Spec.Unschedulable:
			tn.info(2, "lownodeutilization.go:206", "Node is unschedulable, thus not considered as underutilized", "node", u.node.Name)
			if u.percent.above(high) {
				over = append(over, u)
			} else {
				fair = append(fair, u)
			}
		case u.percent.below(low):
			under = append(under, u)
		case u.percent.above(high):
			over = append(over, u)
		default:
			fair = append(fair, u)
		}
	}
	for _, of := range []struct {
		category string
		list     []*nodeUse
	}{{"underutilized", under}, {"overutilized", over}} {
		for _, u := range of.list {
			tn.info(0, "lownodeutilization.go:231", "Node has been classified", "category", of.category, "node", u.node.Name, "usage", u.use.written(), "usagePercentage", u.percent.written())
		}
	}
	for _, u := range fair {
		tn.info(0, "lownodeutilization.go:257", "Node is appropriately utilized", "node", u.node.Name, "usage", u.use.written(), "usagePercentage", u.percent.written())
	}
	tn.info(1, "lownodeutilization.go:269", "Criteria for a node under utilization", a.Thresholds.pairs()...)
	tn.info(1, "lownodeutilization.go:270", "Number of underutilized nodes", "totalNumber", len(under))
	tn.info(1, "lownodeutilization.go:271", "Criteria for a node above target utilization", a.TargetThresholds.pairs()...)
	tn.info(1, "lownodeutilization.go:272", "Number of overutilized nodes", "totalNumber", len(over))
	switch {
	case len(under) == 0:
		tn.info(1, "lownodeutilization.go:275", "No node is underutilized, nothing to do here, you might tune your thresholds further")
	case len(under) <= a.NumberOfNodes:
		tn.info(1, "lownodeutilization.go:282", "Number of nodes underutilized is less or equal than NumberOfNodes, nothing to do here", "underutilizedNodes", len(under), "numberOfNodes", a.NumberOfNodes)
	case len(under) == len(nodes):
		tn.info(1, "lownodeutilization.go:291", "All nodes are underutilized, nothing to do here")
	case len(over) == 0:
		tn.info(1, "lownodeutilization.go:296", "All nodes are under target utilization, nothing to do here")
	default:
		slices.SortStableFunc(over, func(x, y *nodeUse) int { return cmp.Compare(y.use.sum(), x.use.sum()) })
		a.move(tn, over, under, names)
	}
}

func newNodeUse(n *corev1.Node, pods []*corev1.Pod, names []corev1.ResourceName) *nodeUse {
	u := &nodeUse{node: n, pods: pods, use: amounts{}, percent: thresholds{}}
	sum, has := used(pods), capacity(n)
	for _, name := range names {
		u.use[name] = sum[name]
		if total, ok := has[name]; ok {
			u.percent[name] = 0
			if total > 0 {
				u.percent[name] = float64(sum[name]) / float64(total) * 100
			}
		}
	}
	return u
}

// capacity is what a node has for pods.
func capacity(n *corev1.Node) amounts {
	if len(n.Status.Allocatable) > 0 {
		return amountsOf(n.Status.Allocatable)
	}
	return amountsOf(n.Status.Capacity)
}

// capped is what a node may be used up to (capNodeCapacitiesToThreshold).
func (u *nodeUse) capped(th thresholds, names []corev1.ResourceName) amounts {
	has, limit := capacity(u.node), amounts{}
	for _, name := range names {
		limit[name] = has[name]
		if percent, ok := th[name]; ok {
			limit[name] = int64(percent * 0.01 * float64(has[name]))
		}
	}
	return limit
}

// around are thresholds about the average (assessNodesUsagesAndRelativeThresholds).
func (a *utilizationArgs) around(tn *turn, uses []*nodeUse) (low, high thresholds) {
	average, low, high := thresholds{}, thresholds{}, thresholds{}
	for _, name := range a.Thresholds.names() {
		known := 0
		for _, u := range uses {
			if p, ok := u.percent[name]; ok {
				average[name] += p
				known++
			}
		}
		if known == 0 {
			continue
		}
		average[name] /= float64(known)
		low[name] = min(max(average[name]-a.Thresholds[name], 0), 100)
		high[name] = min(max(average[name]+a.TargetThresholds[name], 0), 100)
	}
	tn.descheduler.info(3, "nodeutilization.go:503", "Assessed average usage", average.pairs()...)
	tn.descheduler.info(3, "nodeutilization.go:513", "Assessed thresholds for underutilized nodes", low.pairs()...)
	tn.descheduler.info(3, "nodeutilization.go:523", "Assessed thresholds for overutilized nodes", high.pairs()...)
	return low, high
}

// below reports whether nothing is used more than a threshold, above whether something is.
func (th thresholds) below(limit thresholds) bool {
	for name := range limit {
		if limit[name] < th[name] {
			return false
		}
	}
	return true
}

func (th thresholds) above(limit thresholds) bool { return !th.below(limit) }

// move evicts pods from nodes, as long as others have room for them.
//
// Mirrors nodeutilization.go evictPodsFromSourceNodes.
func (a *utilizationArgs) move(tn *turn, from, to []*nodeUse, names []corev1.ResourceName) {
	available := amounts{}
	for _, u := range to {
		for _, name := range names {
			available[name] += u.limit[name] - u.use[name]
		}
	}
	tn.info(1, "nodeutilization.go:185", "Total capacity to be moved", available.pairs()...)
	for _, u := range from {
		tn.info(3, "nodeutilization.go:193", "Evicting pods from node", "node", u.node.Name, "usage", u.use.written())
		var removable []*corev1.Pod
		for _, p := range u.pods {
			if tn.may(p) {
				removable = append(removable, p)
			}
		}
		tn.info(2, "nodeutilization.go:200", "Pods on node", "node", u.node.Name, "allPods", len(u.pods), "nonRemovablePods", len(u.pods)-len(removable), "removablePods", len(removable))
		if len(removable) == 0 {
			tn.info(1, "nodeutilization.go:209", "No removable pods on node, try next node", "node", u.node.Name)
			continue
		}
		tn.info(1, "nodeutilization.go:216", "Evicting pods based on priority, if they have same priority, they'll be evicted based on QoS tiers")
		lowestFirst(removable)
		if err := a.empty(tn, u, removable, available, to); err == errTotalLimit {
			return
		}
	}
}

// empty evicts pods of one node until it is below the target, or there is no more room
// elsewhere (nodeutilization.go evictPods).
func (a *utilizationArgs) empty(tn *turn, u *nodeUse, pods []*corev1.Pod, available amounts, to []*nodeUse) error {
	more := func() bool {
		for _, n := range available {
			if n <= 0 {
				return false
			}
		}
		for name, n := range u.use {
			if u.limit[name] < n {
				return true
			}
		}
		return false
	}
	if !more() {
		return nil
	}
	evicted := uint(0)
	for _, p := range pods {
		if l := a.EvictionLimits; l != nil && l.Node != nil && evicted >= *l.Node {
			tn.info(3, "nodeutilization.go:278", "Max number of evictions per node per plugin reached", "limit", *l.Node)
			break
		}
		if !slices.ContainsFunc(to, func(t *nodeUse) bool {
			return len(p.Spec.Tolerations) >= len(t.node.Spec.Taints) && tolerates(p.Spec.Tolerations, t.node.Spec.Taints, nil)
		}) {
			tn.info(3, "nodeutilization.go:286", "Skipping eviction for pod, doesn't tolerate node taint", "pod", key(p))
			continue
		}
		if a.EvictableNamespaces != nil && slices.Contains(a.EvictableNamespaces.Exclude, p.Namespace) || !tn.wants(p) {
			continue
		}
		if err := tn.evict(p); err == errNodeLimit || err == errTotalLimit {
			return err
		} else if err != nil {
			tn.error("nodeutilization.go:328", err, "eviction failed")
			continue
		}
		evicted++
		tn.info(3, "nodeutilization.go:339", "Evicted pods", "pod", key(p))
		takes := requests(p)
		takes[corev1.ResourcePods] = 1
		for name := range available {
			u.use[name] -= takes[name]
			available[name] -= takes[name]
		}
		tn.info(3, "nodeutilization.go:348", "Updated node usage", append([]any{"node", u.node.Name}, u.use.pairs()...)...)
		if !more() {
			break
		}
	}
	return nil
}

// sum is how nodes are compared (sortNodesByUsage).
func (a amounts) sum() (n int64) {
	for _, v := range a {
		n += v
	}
	return n
}

// pairs are amounts for a line of the log (usageToKeysAndValues).
func (a amounts) pairs() (pairs []any) {
	pairs = []any{"CPU", a[corev1.ResourceCPU], "Mem", a[corev1.ResourceMemory], "Pods", a[corev1.ResourcePods]}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		switch name {
		case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods:
		default:
			pairs = append(pairs, name, a[name])
		}
	}
	return pairs
}

// asIs is text that the log has without quotes.
type asIs []byte

// Format implements [fmt.Formatter].
func (j asIs) Format(s fmt.State, _ rune) { _, _ = s.Write(j) }

// written are amounts as klog writes a list of resources.
func (a amounts) written() asIs {
	text := map[corev1.ResourceName]string{}
	for name, n := range a {
		switch name {
		case corev1.ResourceCPU:
			text[name] = resource.NewMilliQuantity(n, resource.DecimalSI).String()
		case corev1.ResourceMemory:
			text[name] = resource.NewQuantity(n, resource.BinarySI).String()
		default:
			text[name] = resource.NewQuantity(n, resource.DecimalSI).String()
		}
	}
	return written(text)
}

// written are percentages, rounded.
func (th thresholds) written() asIs {
	round := map[corev1.ResourceName]float64{}
	for name, v := range th {
		round[name] = math.Round(v)
	}
	return written(round)
}

func written(v any) asIs {
	b, err := json.Marshal(v)
	if err != nil {
		return asIs(err.Error())
	}
	return b
}
