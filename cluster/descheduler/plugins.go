package descheduler

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// plugins are those that are here, by name. They are made for each policy.
var plugins map[string]plugin

func init() { // not a literal: to say which plugins there are, policies look at it
	plugins = map[string]plugin{
		"LowNodeUtilization":                          {true, lowNodeUtilization},
		"RemoveDuplicates":                            {true, made((*duplicates).check, (*duplicates).balance)},
		"RemovePodsViolatingTopologySpreadConstraint": {true, made((*spread).check, (*spread).balance)},
		"RemovePodsViolatingNodeTaints":               {false, made((*taints).check, (*taints).deschedule)},
		"RemovePodsViolatingInterPodAntiAffinity":     {false, made((*antiAffinity).check, (*antiAffinity).deschedule)},
		"RemovePodsHavingTooManyRestarts":             {false, made((*restarts).check, (*restarts).deschedule)},
	}
}

// made makes a plugin from its arguments.
func made[A any](check func(*A) error, run func(*A, *turn, []*corev1.Node)) func([]byte) (func(*turn, []*corev1.Node), error) {
	return func(raw []byte) (func(*turn, []*corev1.Node), error) {
		args := new(A)
		if err := strict(raw, args); err != nil {
			return nil, err
		}
		if err := check(args); err != nil {
			return nil, err
		}
		return func(tn *turn, nodes []*corev1.Node) { run(args, tn, nodes) }, nil
	}
}

// duplicates are the arguments of RemoveDuplicates.
type duplicates struct {
	metav1.TypeMeta   `json:",inline"`
	Namespaces        *namespaces `json:"namespaces,omitempty"`
	ExcludeOwnerKinds []string    `json:"excludeOwnerKinds,omitempty"`
}

func (a *duplicates) check() error { return a.Namespaces.check() }

// owner is what pods have in common that are duplicates of one another.
type owner struct{ namespace, kind, name, images string }

func (o owner) String() string {
	return fmt.Sprintf("%s/%s/%s/%s", o.namespace, o.kind, o.name, o.images)
}

// balance evicts pods of an owner that stand on the same node, down to what each node would have
// if they were spread evenly.
//
// Mirrors pkg/framework/plugins/removeduplicates.
func (a *duplicates) balance(tn *turn, nodes []*corev1.Node) {
	twice, occurs := map[owner]map[string][]*corev1.Pod{}, map[owner]int{}
	for _, n := range nodes {
		tn.info(2, "removeduplicates.go:111", "Processing node", "node", n.Name)
		seen := map[string]bool{}
		for _, pod := range tn.on(n.Name, tn.evictable(a.Namespaces, nil)) {
			if len(pod.OwnerReferences) == 0 || slices.ContainsFunc(pod.OwnerReferences, func(o metav1.OwnerReference) bool { return slices.Contains(a.ExcludeOwnerKinds, o.Kind) }) {
				continue
			}
			var images, keys []string
			for _, c := range pod.Spec.Containers {
				images = append(images, c.Image)
			}
			slices.Sort(images)
			var owners []owner
			for _, o := range pod.OwnerReferences {
				by := owner{pod.Namespace, o.Kind, o.Name, strings.Join(images, "#")}
				owners = append(owners, by)
				occurs[by]++
				for _, image := range images {
					keys = append(keys, strings.Join([]string{pod.Namespace, o.Kind, o.Name, image}, "/"))
				}
			}
			slices.Sort(keys)
			if all := strings.Join(keys, "\n"); !seen[all] {
				seen[all] = true
				continue
			}
			tn.info(3, "removeduplicates.go:170", "Duplicate found", "pod", key(pod))
			for _, by := range owners {
				if twice[by] == nil {
					twice[by] = map[string][]*corev1.Pod{}
				}
				twice[by][n.Name] = append(twice[by][n.Name], pod)
			}
		}
	}
	for _, by := range slices.SortedFunc(maps.Keys(twice), func(a, b owner) int { return cmp.Compare(a.String(), b.String()) }) {
		targets := targetsOf(twice[by], nodes)
		tn.info(2, "removeduplicates.go:202", "Adjusting feasible nodes", "owner", by, "from", len(nodes), "to", targets)
		if targets < 2 {
			tn.info(1, "removeduplicates.go:204", "Less than two feasible nodes for duplicates to land, skipping eviction", "owner", by)
			continue
		}
		average := int(math.Ceil(float64(occurs[by]) / float64(targets)))
		for _, n := range slices.Sorted(maps.Keys(twice[by])) {
			tn.info(2, "removeduplicates.go:211", "Average occurrence per node", "node", n, "ownerKey", by, "avg", average)
			// The first pod on the node is not in the list.
			if pods := twice[by][n]; len(pods)+1 > average && !tn.evictAll(pods[average-1:], "removeduplicates.go:227") {
				return
			}
		}
	}
}

// targetsOf is on how many nodes the pods could be (getTargetNodes). Pods that may be on one node only do
// not count.
func targetsOf(pods map[string][]*corev1.Pod, nodes []*corev1.Node) int {
	targets := map[string]bool{}
	for _, n := range slices.Sorted(maps.Keys(pods)) {
		for _, pod := range pods[n] {
			var fit []string
			for _, n := range nodes {
				ok, err := matches(pod, n)
				if tolerates(pod.Spec.Tolerations, n.Spec.Taints, placing) && (err != nil || ok) {
					fit = append(fit, n.Name)
				}
			}
			if len(fit) > 1 {
				for _, n := range fit {
					targets[n] = true
				}
			}
		}
	}
	return len(targets)
}

// taints are the arguments of RemovePodsViolatingNodeTaints.
type taints struct {
	metav1.TypeMeta         `json:",inline"`
	Namespaces              *namespaces           `json:"namespaces,omitempty"`
	LabelSelector           *metav1.LabelSelector `json:"labelSelector,omitempty"`
	IncludePreferNoSchedule bool                  `json:"includePreferNoSchedule,omitempty"`
	ExcludedTaints          []string              `json:"excludedTaints,omitempty"`
	IncludedTaints          []string              `json:"includedTaints,omitempty"`
}

func (a *taints) check() error {
	var both error
	if len(a.ExcludedTaints) > 0 && len(a.IncludedTaints) > 0 {
		both = errors.New("either includedTaints or excludedTaints can be set, but not both")
	}
	return aggregate(a.Namespaces.check(), checkSelector(a.LabelSelector), both)
}

// aggregate are errors in upstream's way to say several.
func aggregate(errs ...error) error { return utilerrors.NewAggregate(errs) }

// deschedule evicts pods that do not tolerate a taint which their node has got since.
//
// Mirrors pkg/framework/plugins/removepodsviolatingnodetaints.
func (a *taints) deschedule(tn *turn, nodes []*corev1.Node) {
	named := func(list []string, t *corev1.Taint) bool {
		return slices.Contains(list, t.Key) || t.Value != "" && slices.Contains(list, t.Key+"="+t.Value)
	}
	counts := func(t *corev1.Taint) bool {
		effect := t.Effect == corev1.TaintEffectNoSchedule || a.IncludePreferNoSchedule && t.Effect == corev1.TaintEffectPreferNoSchedule
		return effect && !named(a.ExcludedTaints, t) && (a.IncludedTaints == nil || named(a.IncludedTaints, t))
	}
	for _, n := range nodes {
		pods := tn.on(n.Name, tn.evictable(a.Namespaces, a.LabelSelector))
		tn.info(1, "node_taint.go:114", "Processing node", "node", n.Name)
		var violating []*corev1.Pod
		for _, p := range pods {
			if !tolerates(p.Spec.Tolerations, n.Spec.Taints, counts) {
				tn.info(2, "node_taint.go:125", "Not all taints with NoSchedule effect are tolerated after update for pod on node", "pod", key(p), "node", n.Name)
				violating = append(violating, p)
			}
		}
		if !tn.evictAll(violating, "node_taint.go:136") {
			return
		}
	}
}

// restarts are the arguments of RemovePodsHavingTooManyRestarts.
type restarts struct {
	metav1.TypeMeta         `json:",inline"`
	Namespaces              *namespaces           `json:"namespaces,omitempty"`
	LabelSelector           *metav1.LabelSelector `json:"labelSelector,omitempty"`
	PodRestartThreshold     int32                 `json:"podRestartThreshold,omitempty"`
	IncludingInitContainers bool                  `json:"includingInitContainers,omitempty"`
	States                  []string              `json:"states,omitempty"`
}

func (a *restarts) check() error {
	var few, state error
	if a.PodRestartThreshold < 1 {
		few = errors.New("invalid PodsHavingTooManyRestarts threshold")
	}
	allowed := []string{"CrashLoopBackOff", string(corev1.PodRunning)}
	if slices.ContainsFunc(a.States, func(s string) bool { return !slices.Contains(allowed, s) }) {
		state = fmt.Errorf("states must be one of %v", allowed)
	}
	return aggregate(a.Namespaces.check(), checkSelector(a.LabelSelector), few, state)
}

// of is how often a pod's containers were started again.
func (a *restarts) of(p *corev1.Pod) (n int32) {
	for _, c := range p.Status.ContainerStatuses {
		n += c.RestartCount
	}
	if a.IncludingInitContainers {
		for _, c := range p.Status.InitContainerStatuses {
			n += c.RestartCount
		}
	}
	return n
}

// in reports whether a pod is in one of the states.
func (a *restarts) in(p *corev1.Pod) bool {
	waits := func(c corev1.ContainerStatus) bool {
		return c.State.Waiting != nil && slices.Contains(a.States, c.State.Waiting.Reason)
	}
	return len(a.States) == 0 || slices.Contains(a.States, string(p.Status.Phase)) || slices.ContainsFunc(p.Status.ContainerStatuses, waits) ||
		a.IncludingInitContainers && slices.ContainsFunc(p.Status.InitContainerStatuses, waits)
}

// deschedule evicts pods whose containers end again and again: on another node they might not.
//
// Mirrors pkg/framework/plugins/removepodshavingtoomanyrestarts.
func (a *restarts) deschedule(tn *turn, nodes []*corev1.Node) {
	evictable := tn.evictable(a.Namespaces, a.LabelSelector)
	for _, n := range nodes {
		tn.info(2, "toomanyrestarts.go:115", "Processing node", "node", n.Name)
		pods := tn.all(n.Name, func(p *corev1.Pod) bool {
			if !evictable(p) {
				return false
			}
			if r := a.of(p); r < a.PodRestartThreshold {
				tn.info(4, "toomanyrestarts.go:75", fmt.Sprintf("ignoring pod for eviction due to: number of container restarts (%v) not exceeding the threshold", r), "pod", key(p))
				return false
			}
			return a.in(p)
		})
		slices.SortStableFunc(pods, func(x, y *corev1.Pod) int { return cmp.Compare(a.of(y), a.of(x)) })
		if !tn.evictAll(pods, "toomanyrestarts.go:145") {
			return
		}
	}
}

// antiAffinity are the arguments of RemovePodsViolatingInterPodAntiAffinity.
type antiAffinity struct {
	metav1.TypeMeta `json:",inline"`
	Namespaces      *namespaces           `json:"namespaces,omitempty"`
	LabelSelector   *metav1.LabelSelector `json:"labelSelector,omitempty"`
}

func (a *antiAffinity) check() error {
	return aggregate(a.Namespaces.check(), checkSelector(a.LabelSelector))
}

// deschedule evicts pods that stand where their required anti-affinity forbids.
//
// Mirrors pkg/framework/plugins/removepodsviolatinginterpodantiaffinity.
func (a *antiAffinity) deschedule(tn *turn, nodes []*corev1.Node) {
	byName, here := map[string]*corev1.Node{}, map[string][]*corev1.Pod{}
	var all []*corev1.Pod
	for _, n := range nodes {
		byName[n.Name], here[n.Name] = n, tn.on(n.Name, about(a.Namespaces, a.LabelSelector))
		all = append(all, here[n.Name]...)
	}
	for _, n := range nodes {
		tn.info(2, "pod_antiaffinity.go:97", "Processing node", "node", n.Name)
		pods := here[n.Name]
		lowestFirst(pods)
		for _, p := range pods {
			if !violates(p, all, byName) || !tn.may(p) || !tn.wants(p) {
				continue
			}
			err := tn.evict(p)
			if err == errNodeLimit {
				break
			}
			switch err {
			case nil: // the others need not go because of it
				all = slices.DeleteFunc(all, func(o *corev1.Pod) bool { return o == p })
			case errTotalLimit:
				return
			default:
				tn.error("pod_antiaffinity.go:122", err, "eviction failed")
			}
		}
	}
}

// violates reports whether a pod's required anti-affinity forbids one of others where both are
// (utils.CheckPodsWithAntiAffinityExist).
func violates(p *corev1.Pod, others []*corev1.Pod, nodes map[string]*corev1.Node) bool {
	return eachTerm(p, func(term *corev1.PodAffinityTerm, selected func(*corev1.Pod) bool) bool {
		for _, o := range others {
			if o.Name == p.Name || !selected(o) {
				continue
			}
			mine, its := nodes[p.Spec.NodeName], nodes[o.Spec.NodeName]
			if mine == its {
				return true
			}
			here, ok := mine.Labels[term.TopologyKey]
			there, has := its.Labels[term.TopologyKey]
			if ok && has && here == there {
				return true
			}
		}
		return false
	})
}

// antiAffine reports whether a pod's required anti-affinity forbids one on a node (node.go podMatchesInterPodAntiAffinity).
func (tn *turn) antiAffine(p *corev1.Pod, node *corev1.Node) bool {
	return eachTerm(p, func(term *corev1.PodAffinityTerm, selected func(*corev1.Pod) bool) bool {
		_, has := node.Labels[term.TopologyKey]
		return has && slices.ContainsFunc(tn.on(node.Name, nil), func(o *corev1.Pod) bool { return o.Name != p.Name && selected(o) })
	})
}

// eachTerm asks about each required anti-affinity term, until the answer is yes.
func eachTerm(p *corev1.Pod, is func(term *corev1.PodAffinityTerm, selected func(*corev1.Pod) bool) bool) bool {
	if p.Spec.Affinity == nil || p.Spec.Affinity.PodAntiAffinity == nil {
		return false
	}
	terms := p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	for i := range terms {
		of := terms[i].Namespaces
		if len(of) == 0 {
			of = []string{p.Namespace}
		}
		selector, err := metav1.LabelSelectorAsSelector(terms[i].LabelSelector)
		if err != nil {
			return false
		}
		if is(&terms[i], func(o *corev1.Pod) bool {
			return slices.Contains(of, o.Namespace) && selector.Matches(labels.Set(o.Labels))
		}) {
			return true
		}
	}
	return false
}
