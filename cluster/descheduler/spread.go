package descheduler

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// spread are the arguments of RemovePodsViolatingTopologySpreadConstraint.
type spread struct {
	metav1.TypeMeta        `json:",inline"`
	Namespaces             *namespaces                            `json:"namespaces,omitempty"`
	LabelSelector          *metav1.LabelSelector                  `json:"labelSelector,omitempty"`
	Constraints            []corev1.UnsatisfiableConstraintAction `json:"constraints,omitempty"`
	TopologyBalanceNodeFit *bool                                  `json:"topologyBalanceNodeFit,omitempty"`
}

func (a *spread) check() error {
	errs := []error{a.Namespaces.check(), checkSelector(a.LabelSelector)}
	for _, c := range a.Constraints {
		if c != corev1.DoNotSchedule && c != corev1.ScheduleAnyway {
			errs = append(errs, fmt.Errorf("constraint %s is not one of map[DoNotSchedule:{} ScheduleAnyway:{}]", c))
		}
	}
	return aggregate(errs...)
}

// constraint is a pod's constraint, with its selector and what it says of nodes.
type constraint struct {
	skew        int32
	topology    string
	selector    labels.Selector
	affinity    *nodeaffinity.RequiredNodeAffinity // nil: not honoured
	taints      bool                               // are honoured
	tolerations []corev1.Toleration
}

// counts reports whether a node is one that the constraint is about (matchNodeInclusionPolicies).
func (c *constraint) counts(n *corev1.Node) bool {
	if c.affinity != nil {
		if ok, _ := c.affinity.Match(n); !ok { // an error counts as no, as it does upstream
			return false
		}
	}
	return !c.taints || tolerates(c.tolerations, n.Spec.Taints, placing)
}

// constraintOf is newTopologySpreadConstraint.
func constraintOf(from *corev1.TopologySpreadConstraint, pod *corev1.Pod) (*constraint, error) {
	selector, err := metav1.LabelSelectorAsSelector(from.LabelSelector)
	if err != nil {
		return nil, err
	}
	for _, k := range from.MatchLabelKeys {
		if v, ok := pod.Labels[k]; ok {
			added, _ := labels.SelectorFromSet(labels.Set{k: v}).Requirements()
			selector = selector.Add(added...)
		}
	}
	c := &constraint{skew: from.MaxSkew, topology: from.TopologyKey, selector: selector}
	if p := from.NodeAffinityPolicy; p == nil || *p == corev1.NodeInclusionPolicyHonor {
		required := nodeaffinity.GetRequiredNodeAffinity(pod)
		c.affinity = &required
	}
	if p := from.NodeTaintsPolicy; p != nil && *p == corev1.NodeInclusionPolicyHonor {
		c.taints, c.tolerations = true, pod.Spec.Tolerations
	}
	return c, nil
}

// domain is a value of a constraint's label, and the pods on its nodes.
type domain struct {
	value string
	pods  []*corev1.Pod
}

// balance evicts pods from domains that have too many, until the skew is what the pods'
// constraints allow.
//
// Mirrors pkg/framework/plugins/removepodsviolatingtopologyspreadconstraint.
func (a *spread) balance(tn *turn, nodes []*corev1.Node) {
	tn.info(1, "topologyspreadconstraint.go:135", "Processing namespaces for topology spread constraints")
	actions := a.Constraints
	if len(actions) == 0 {
		actions = []corev1.UnsatisfiableConstraintAction{corev1.DoNotSchedule}
	}
	about := about(a.Namespaces, a.LabelSelector)
	counted := func(p *corev1.Pod) bool { return about(p) && tn.may(p) }
	byNamespace := map[string][]*corev1.Pod{}
	for _, n := range nodes {
		for _, p := range tn.on(n.Name, counted) {
			byNamespace[p.Namespace] = append(byNamespace[p.Namespace], p)
		}
	}
	var leave []*corev1.Pod
	for _, ns := range slices.Sorted(maps.Keys(byNamespace)) {
		tn.info(4, "topologyspreadconstraint.go:151", "Processing namespace for topology spread constraints", "namespace", ns)
		for _, c := range constraintsOf(tn, byNamespace[ns], actions) {
			domains, sum := domainsOf(c, byNamespace[ns], nodes)
			if balanced(domains, c) {
				tn.info(2, "topologyspreadconstraint.go:224", "Skipping topology constraint because it is already balanced", "constraint", fmt.Sprintf("%s maxSkew %d of %s", c.topology, c.skew, c.selector))
				continue
			}
			for _, p := range a.choose(tn, c, domains, sum, nodes) {
				if !slices.Contains(leave, p) {
					leave = append(leave, p)
				}
			}
		}
	}
	full := map[string]bool{}
	for _, p := range leave {
		if full[p.Spec.NodeName] || !counted(p) || !tn.wants(p) {
			continue
		}
		switch err := tn.evict(p); err {
		case nil:
		case errNodeLimit:
			full[p.Spec.NodeName] = true
		case errTotalLimit:
			return
		default:
			tn.error("topologyspreadconstraint.go:251", err, "eviction failed")
		}
	}
}

// constraintsOf are the constraints of pods, each once.
func constraintsOf(tn *turn, pods []*corev1.Pod, actions []corev1.UnsatisfiableConstraintAction) (list []*constraint) {
	for _, p := range pods {
		for i := range p.Spec.TopologySpreadConstraints {
			from := &p.Spec.TopologySpreadConstraints[i]
			if !slices.Contains(actions, from.WhenUnsatisfiable) {
				continue
			}
			c, err := constraintOf(from, p)
			if err != nil {
				tn.error("topologyspreadconstraint.go:164", err, "cannot process topology spread constraint")
				continue
			}
			if !slices.ContainsFunc(list, func(o *constraint) bool { return reflect.DeepEqual(o, c) }) {
				list = append(list, c)
			}
		}
	}
	return list
}

// domainsOf are the domains of a constraint, by value, and how many pods they have.
func domainsOf(c *constraint, pods []*corev1.Pod, nodes []*corev1.Node) (domains []*domain, sum int) {
	byValue, byName := map[string]*domain{}, map[string]*corev1.Node{}
	at := func(value string) *domain {
		if byValue[value] == nil {
			byValue[value] = &domain{value: value}
		}
		return byValue[value]
	}
	for _, n := range nodes {
		byName[n.Name] = n
		if value, ok := n.Labels[c.topology]; ok && c.counts(n) {
			at(value)
		}
	}
	for _, p := range pods {
		n := byName[p.Spec.NodeName]
		if p.DeletionTimestamp != nil || n == nil || !c.selector.Matches(labels.Set(p.Labels)) {
			continue
		}
		if value, ok := n.Labels[c.topology]; ok {
			d := at(value)
			d.pods = append(d.pods, p)
			sum++
		}
	}
	for _, value := range slices.Sorted(maps.Keys(byValue)) {
		domains = append(domains, byValue[value])
	}
	return domains, sum
}

// balanced is topologyIsBalanced.
func balanced(domains []*domain, c *constraint) bool {
	least, most := math.MaxInt32, math.MinInt32
	for _, d := range domains {
		least, most = min(least, len(d.pods)), max(most, len(d.pods))
	}
	return len(domains) == 0 || int32(most-least) <= c.skew
}

// choose picks the pods that have to go: from the largest domains to the smallest, neither below nor above
// the average.
//
// Mirrors balanceDomains.
func (a *spread) choose(tn *turn, c *constraint, domains []*domain, sum int, nodes []*corev1.Node) (chosen []*corev1.Pod) {
	average := float64(sum) / float64(len(domains))
	for _, d := range domains {
		sortDomain(d)
	}
	slices.SortStableFunc(domains, func(x, y *domain) int { return cmp.Compare(len(x.pods), len(y.pods)) })
	var eligible, below []*corev1.Node
	for _, n := range nodes {
		if c.counts(n) {
			eligible = append(eligible, n)
		}
	}
	for _, d := range domains {
		for _, n := range eligible {
			if value, ok := n.Labels[c.topology]; ok && value == d.value && float64(len(d.pods)) < average {
				below = append(below, n)
			}
		}
	}
	fit := a.TopologyBalanceNodeFit == nil || *a.TopologyBalanceNodeFit
	for i, j := 0, len(domains)-1; i < j; {
		if float64(len(domains[j].pods)) <= average {
			j--
		}
		skew := len(domains[j].pods) - len(domains[i].pods)
		if int32(skew) <= c.skew {
			i++
			continue
		}
		above, under := math.Ceil(float64(len(domains[j].pods))-average), math.Ceil(average-float64(len(domains[i].pods)))
		half := math.Ceil((float64(skew) - float64(c.skew)) / 2)
		move := int(min(above, under, half))
		if move <= 0 {
			i++
			continue
		}
		from := domains[j]
		fits := map[*corev1.Pod]int{}
		for _, p := range from.pods {
			if tn.fitsAnyOther(p, below) {
				fits[p] = 1
			}
		}
		slices.SortStableFunc(from.pods, func(x, y *corev1.Pod) int { return cmp.Compare(fits[x], fits[y]) })
		moved := slices.Clone(from.pods[len(from.pods)-move:])
		for _, p := range moved {
			// It counts as moved in any case, so that the sums add up.
			if fit && fits[p] == 0 {
				tn.info(2, "topologyspreadconstraint.go:378", "ignoring pod for eviction as it does not fit on any other node", "pod", key(p))
				continue
			}
			chosen = append(chosen, p)
		}
		from.pods = from.pods[:len(from.pods)-move]
		domains[i].pods = append(domains[i].pods, moved...)
	}
	return chosen
}

// sortDomain sorts a domain's pods so that those at the end go first: those with a selector or affinity are
// at the beginning, then those of low priority (sortDomains; all of them may be evicted).
func sortDomain(d *domain) {
	bound := func(p *corev1.Pod) int {
		if p.Spec.NodeSelector != nil || p.Spec.Affinity != nil && p.Spec.Affinity.NodeAffinity != nil {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(d.pods, func(a, b *corev1.Pod) int { return cmp.Or(cmp.Compare(bound(a), bound(b)), byPriority(a, b)) })
}
