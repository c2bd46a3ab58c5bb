package descheduler

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
)

// ready are the nodes that are Ready, by name (pkg/descheduler/node ReadyNodes).
func (d *descheduler) ready(selector labels.Selector) (nodes []*corev1.Node) {
	for _, obj := range d.nodes.List() {
		n := obj.(*corev1.Node)
		if !selector.Matches(labels.Set(n.Labels)) {
			continue
		}
		i := slices.IndexFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue
		})
		if i >= 0 {
			d.info(1, "node.go:107", "Ignoring node", "node", n.Name, "condition", string(corev1.NodeReady), "status", string(n.Status.Conditions[i].Status))
			continue
		}
		nodes = append(nodes, n)
	}
	slices.SortFunc(nodes, func(a, b *corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	return nodes
}

// all are the pods on a node, by name, that a filter lets pass.
func (tn *turn) all(node string, filter func(*corev1.Pod) bool) (pods []*corev1.Pod) {
	for _, obj := range tn.pods.ByIndex(byNode, node) {
		pod := obj.(*corev1.Pod)
		if !tn.counts.dry[string(pod.UID)] && (filter == nil || filter(pod)) {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(key(a), key(b)) })
	return pods
}

// on are those that have not ended (pkg/descheduler/pod ListPodsOnANode).
func (tn *turn) on(node string, filter func(*corev1.Pod) bool) []*corev1.Pod {
	return tn.all(node, func(p *corev1.Pod) bool {
		return p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed && (filter == nil || filter(p))
	})
}

// about is a filter of what a plugin's arguments say it is about.
func about(of *namespaces, selector *metav1.LabelSelector) func(*corev1.Pod) bool {
	return func(p *corev1.Pod) bool {
		if of != nil && (len(of.Include) > 0 && !slices.Contains(of.Include, p.Namespace) || slices.Contains(of.Exclude, p.Namespace)) {
			return false
		}
		return selects(selector, p.Labels)
	}
}

// evictable is a filter of what a plugin is about and may evict at once.
func (tn *turn) evictable(of *namespaces, selector *metav1.LabelSelector) func(*corev1.Pod) bool {
	about := about(of, selector)
	return func(p *corev1.Pod) bool { return about(p) && tn.may(p) && tn.wants(p) }
}

// amounts are what is used of resources: thousandths of a core, bytes, pods, pieces.
type amounts map[corev1.ResourceName]int64

func amountsOf(list corev1.ResourceList) amounts {
	a := amounts{}
	for name, q := range list {
		if name == corev1.ResourceCPU {
			a[name] = q.MilliValue()
		} else {
			a[name] = q.Value()
		}
	}
	return a
}

func requests(p *corev1.Pod) amounts {
	return amountsOf(resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{}))
}

// used is what pods request together, and how many there are.
func used(pods []*corev1.Pod) amounts {
	sum := amounts{corev1.ResourcePods: int64(len(pods))}
	for _, p := range pods {
		for name, n := range requests(p) {
			if name != corev1.ResourcePods {
				sum[name] += n
			}
		}
	}
	return sum
}

// nodeFit says why a pod could not be scheduled onto a node, as far as the descheduler looks.
//
// Mirrors pkg/descheduler/node/node.go NodeFit.
func (tn *turn) nodeFit(pod *corev1.Pod, node *corev1.Node) error {
	if node.Spec.Unschedulable {
		return errors.New("node is not schedulable")
	}
	if ok, err := matches(pod, node); err != nil {
		return err
	} else if !ok {
		return errors.New("pod node selector does not match the node label")
	}
	if !tolerates(pod.Spec.Tolerations, node.Spec.Taints, placing) {
		return errors.New("pod does not tolerate taints on the node")
	}
	if tn.antiAffine(pod, node) {
		return errors.New("pod matches inter-pod anti-affinity rule of other pod on node")
	}
	if pod.Spec.NodeName == "" || pod.Spec.NodeName != node.Name {
		return tn.fitsRequest(pod, node)
	}
	return nil
}

// fitsAnyOther reports whether a pod could be scheduled onto a node that it is not on
// (node.go PodFitsAnyOtherNode).
func (tn *turn) fitsAnyOther(pod *corev1.Pod, nodes []*corev1.Node) bool {
	for _, n := range nodes {
		if n.Name == pod.Spec.NodeName {
			continue
		}
		err := tn.nodeFit(pod, n)
		if err == nil {
			tn.descheduler.info(4, "node.go:185", "Pod fits on node", "pod", key(pod), "node", n.Name)
			return true
		}
		tn.descheduler.info(4, "node.go:189", "Pod does not fit on node", "pod", key(pod), "node", n.Name, "err", err.Error())
	}
	return false
}

// fitsRequest says which resource a node has too little of (node.go fitsRequest).
func (tn *turn) fitsRequest(pod *corev1.Pod, node *corev1.Node) error {
	want, free := requests(pod), amountsOf(node.Status.Allocatable)
	for name, n := range used(tn.on(node.Name, nil)) {
		free[name] -= n
	}
	names := []corev1.ResourceName{corev1.ResourcePods}
	for name := range want {
		names = append(names, name)
	}
	slices.Sort(names[1:])
	for _, name := range names {
		if want[name] > max(free[name], 0) {
			return fmt.Errorf("insufficient %v", name)
		}
	}
	if free[corev1.ResourcePods] <= 0 {
		return fmt.Errorf("insufficient %v", corev1.ResourcePods)
	}
	return nil
}

// matches reports whether a pod's nodeSelector and required node affinity match a node.
func matches(pod *corev1.Pod, node *corev1.Node) (bool, error) {
	required := nodeaffinity.GetRequiredNodeAffinity(pod)
	return required.Match(node)
}

// placing is of the taints that keep a pod from being scheduled onto a node.
func placing(t *corev1.Taint) bool {
	return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
}

// tolerates reports whether tolerations tolerate all taints, or all those that count
// (utils.TolerationsTolerateTaintsWithFilter).
func tolerates(tolerations []corev1.Toleration, taints []corev1.Taint, counts func(*corev1.Taint) bool) bool {
	for i := range taints {
		if counts != nil && !counts(&taints[i]) {
			continue
		}
		if !slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool { return t.ToleratesTaint(klog.Logger{}, &taints[i], true) }) {
			return false
		}
	}
	return true
}

// lowestFirst sorts pods in the order in which they are evicted: by priority, then best effort,
// burstable, guaranteed, then those that ask not to be evicted last
// (pkg/descheduler/pod SortPodsBasedOnPriorityLowToHigh).
func lowestFirst(pods []*corev1.Pod) {
	rank := func(p *corev1.Pod) int {
		switch qos.GetPodQOS(p) {
		case corev1.PodQOSBestEffort:
			return 0
		case corev1.PodQOSBurstable:
			return 1
		}
		return 2
	}
	rather := func(p *corev1.Pod) int {
		if _, ok := p.Annotations[noEvictionAnnotation]; ok {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(byPriority(a, b), cmp.Compare(rank(a), rank(b)), cmp.Compare(rather(a), rather(b)))
	})
}

// byPriority compares priorities; none is the lowest.
func byPriority(a, b *corev1.Pod) int {
	switch x, y := a.Spec.Priority, b.Spec.Priority; {
	case x == nil && y == nil:
		return 0
	case x == nil:
		return -1
	case y == nil:
		return 1
	default:
		return cmp.Compare(*x, *y)
	}
}
