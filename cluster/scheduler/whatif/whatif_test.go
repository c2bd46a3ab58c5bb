package whatif

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"kviz/cluster/scheduler/framework"
	"kviz/cluster/scheduler/plugins/interpodaffinity"
	"kviz/cluster/scheduler/plugins/nodeaffinity"
	"kviz/cluster/scheduler/plugins/nodename"
	"kviz/cluster/scheduler/plugins/nodeports"
	"kviz/cluster/scheduler/plugins/noderesources"
	"kviz/cluster/scheduler/plugins/nodeunschedulable"
	"kviz/cluster/scheduler/plugins/podtopologyspread"
	"kviz/cluster/scheduler/plugins/tainttoleration"
	"kviz/raftstore/steady"
)

// plugins judges with the scheduler's own filters, as a cycle does.
func plugins(pod *framework.PodInfo, node *framework.NodeInfo) *framework.Status {
	state := &framework.CycleState{Pod: pod}
	for _, pl := range []framework.FilterPlugin{
		&nodename.NodeName{}, &nodeunschedulable.NodeUnschedulable{}, &tainttoleration.TaintToleration{}, &nodeaffinity.NodeAffinity{},
		&nodeports.NodePorts{}, &noderesources.Fit{}, &podtopologyspread.PodTopologySpread{Kinds: nodes{node, beside}.Kinds}, &interpodaffinity.InterPodAffinity{Cluster: nodes{node, beside}},
	} {
		if pre, ok := pl.(framework.PreFilterPlugin); ok {
			if _, st := pre.PreFilter(state, pod.Pod, nodes{node, beside}); st.IsSkip() {
				continue
			}
		}
		if st := pl.Filter(state, pod.Pod, node); st != nil {
			return st
		}
	}
	return nil
}

// nodes are a cluster of these, in which no namespace has labels.
type nodes []*framework.NodeInfo

func (n nodes) Kinds() *framework.PodKinds                  { return framework.KindsOf(n) }
func (nodes) NamespaceLabels(string) labels.Set             { return nil }
func (nodes) NamespacesThat(match labels.Selector) []string { return nil }

// beside is another node of the cluster, with nothing to spread over but itself.
var beside = framework.NewNodeInfo(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n9", Labels: map[string]string{corev1.LabelHostname: "n9", "zone": "b"}}})

var web = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}

// drawNear gives a pod what it wants of the pods near it.
func drawNear(t *rapid.T, name string, p *corev1.Pod) {
	key := rapid.SampledFrom([]string{corev1.LabelHostname, "zone"}).Draw(t, name+" topology")
	terms := []corev1.PodAffinityTerm{{LabelSelector: web, TopologyKey: key}}
	switch rapid.IntRange(0, 9).Draw(t, name+" near") {
	case 0:
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: key, LabelSelector: web, WhenUnsatisfiable: corev1.DoNotSchedule,
		}}
	case 1:
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
	case 2:
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
	}
}

func drawPod(t *rapid.T, name string) *corev1.Pod {
	requests := corev1.ResourceList{}
	if n := rapid.SampledFrom([]int64{0, 1, 250, 999, 1500, 4000}).Draw(t, name+" cpu"); n > 0 {
		requests[corev1.ResourceCPU] = *resource.NewMilliQuantity(n, resource.DecimalSI)
	}
	if n := rapid.SampledFrom([]int64{0, 1, 1 << 20, 300<<20 + 7, 3 << 30}).Draw(t, name+" memory"); n > 0 {
		requests[corev1.ResourceMemory] = *resource.NewQuantity(n, resource.BinarySI)
	}
	if rapid.IntRange(0, 3).Draw(t, name+" gpu") == 0 {
		requests["example.com/gpu"] = *resource.NewQuantity(2, resource.DecimalSI)
	}
	c := corev1.Container{Name: "c", Resources: corev1.ResourceRequirements{Requests: requests}}
	if port := rapid.SampledFrom([]int32{0, 0, 80, 81}).Draw(t, name+" port"); port > 0 {
		c.Ports = []corev1.ContainerPort{{HostPort: port, Protocol: corev1.ProtocolTCP}}
	}
	priority := rapid.SampledFrom([]int32{0, 0, 100}).Draw(t, name+" priority")
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{c}, Priority: &priority}}
	p.Labels = map[string]string{"app": rapid.SampledFrom([]string{"web", "db"}).Draw(t, name+" app")}
	drawNear(t, name, p)
	return p
}

func drawLabels(t *rapid.T) map[string]string {
	labels := map[string]string{corev1.LabelHostname: "n1"}
	for _, key := range []string{"zone", "disk", "size"} {
		if v := rapid.SampledFrom([]string{"", "a", "b", "5"}).Draw(t, key); v != "" {
			labels[key] = v
		}
	}
	return labels
}

func drawTerm(t *rapid.T) (term corev1.NodeSelectorTerm) {
	for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"zone", "size", corev1.LabelHostname}), 1, 3, rapid.ID[string]).Draw(t, "keys") {
		r := corev1.NodeSelectorRequirement{Key: key, Operator: rapid.SampledFrom([]corev1.NodeSelectorOperator{
			corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt,
		}).Draw(t, "operator")}
		switch r.Operator {
		case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
			r.Values = rapid.SampledFrom([][]string{{"a"}, {"b", "c"}, {"n1"}}).Draw(t, "values")
		case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
			r.Values = []string{"5"}
		}
		term.MatchExpressions = append(term.MatchExpressions, r)
	}
	return term
}

func drawCase(t *rapid.T) (*framework.PodInfo, *corev1.Node, []*framework.PodInfo) {
	pod := drawPod(t, "web")
	if rapid.Bool().Draw(t, "selects") {
		pod.Spec.NodeSelector = map[string]string{"disk": "b"}
		if rapid.IntRange(0, 5).Draw(t, "host") == 0 {
			pod.Spec.NodeSelector[corev1.LabelHostname] = "n2"
		}
	}
	if n := rapid.IntRange(0, 2).Draw(t, "terms"); n > 0 {
		required := &corev1.NodeSelector{}
		for range n {
			required.NodeSelectorTerms = append(required.NodeSelectorTerms, drawTerm(t))
		}
		if pod.Spec.Affinity == nil {
			pod.Spec.Affinity = &corev1.Affinity{}
		}
		pod.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}
	}
	if rapid.IntRange(0, 3).Draw(t, "tolerates") == 0 {
		pod.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: drawLabels(t)}}
	node.Spec.Unschedulable = rapid.IntRange(0, 3).Draw(t, "cordoned") == 0
	if node.Spec.Unschedulable && rapid.Bool().Draw(t, "tainted too") {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	}
	for _, taint := range []corev1.Taint{
		{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoSchedule},
		{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoExecute},
		{Key: "nice", Effect: corev1.TaintEffectPreferNoSchedule},
		{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute},
	} {
		if rapid.IntRange(0, 3).Draw(t, taint.ToString()) == 0 {
			node.Spec.Taints = append(node.Spec.Taints, taint)
		}
	}
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(rapid.SampledFrom([]int64{500, 2000, 8000}).Draw(t, "cpu"), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(rapid.SampledFrom([]int64{256 << 20, 1 << 30, 16 << 30}).Draw(t, "memory"), resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(rapid.SampledFrom([]int64{0, 2, 4, 110}).Draw(t, "pods"), resource.DecimalSI),
	}
	if n := rapid.SampledFrom([]int64{0, 1, 8}).Draw(t, "gpus"); n > 0 {
		node.Status.Allocatable["example.com/gpu"] = *resource.NewQuantity(n, resource.DecimalSI)
	}
	var there []*framework.PodInfo
	for i := range rapid.IntRange(0, 5).Draw(t, "there") {
		p := drawPod(t, fmt.Sprint("old-", i))
		if len(p.Spec.Containers[0].Ports) > 0 && slices.ContainsFunc(there, func(q *framework.PodInfo) bool {
			return len(q.Ports) > 0 && q.Ports[0].HostPort == p.Spec.Containers[0].Ports[0].HostPort
		}) {
			p.Spec.Containers[0].Ports = nil // nobody could have put it there
		}
		there = append(there, framework.NewPodInfo(p))
	}
	return framework.NewPodInfo(pod), node, there
}

func built(node *corev1.Node, pods []*framework.PodInfo, except ...string) *framework.NodeInfo {
	n := framework.NewNodeInfo(node)
	for _, p := range pods {
		if !slices.Contains(except, p.Key) {
			n.AddPod(p)
		}
	}
	return n
}

// changed is the node built anew from objects with the steps done to them, as a person
// would do them; less is taken off the amount of one resource.
func changed(node *corev1.Node, pods []*framework.PodInfo, steps []*candidate, short corev1.ResourceName, less int64, evict ...string) *framework.NodeInfo {
	object := node.DeepCopy()
	except := slices.Clone(evict)
	for _, c := range steps {
		switch c.kind {
		case cordon:
			object.Spec.Unschedulable = false
			object.Spec.Taints = slices.DeleteFunc(object.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnschedulable })
		case taint:
			object.Spec.Taints = slices.DeleteFunc(object.Spec.Taints, func(t corev1.Taint) bool { return slices.Contains(c.taints, t) })
		case label:
			if delete(object.Labels, c.key); c.value != nil {
				object.Labels[c.key] = *c.value
			}
		case gone:
			except = append(except, c.pod)
		case room:
			n := c.more
			if c.resource == short {
				n -= less
			}
			q := object.Status.Allocatable[c.resource]
			if c.resource == corev1.ResourceCPU {
				q = *resource.NewMilliQuantity(q.MilliValue()+n, resource.DecimalSI)
			} else {
				q = *resource.NewQuantity(q.Value()+n, q.Format)
			}
			object.Status.Allocatable[c.resource] = q
		}
	}
	return built(object, pods, except...)
}

// After what is said has been done the pod fits; with any of it left away it does not, nor
// with the smallest piece less of a resource.
func TestChangeIsEnoughAndLeast(t *testing.T) {
	never, found := 0, 0
	steady.Check(t, func(t *rapid.T) {
		pod, object, there := drawCase(t)
		node := built(object, there)
		c := Node(plugins, pod, node)
		if plugins(pod, node) == nil {
			if c.Never != "" || len(c.steps) > 0 {
				t.Fatalf("it fits, and still %+v", c.Told(pod, node))
			}
			return
		}
		if c.Never != "" {
			never++
			if !byWhatItIs(pod.Pod) {
				t.Fatalf("nothing helps: %s", c.Never)
			}
			return
		}
		found++
		told := c.Told(pod, node)
		if st := plugins(pod, changed(object, there, c.steps, "", 0)); st != nil {
			t.Fatalf("done all of %+v, and still: %s", told, st.Message())
		}
		if st := plugins(pod, c.Apply(node)); st != nil {
			t.Fatalf("applied %+v, and still: %s", told, st.Message())
		}
		var rest []*candidate
		for i, s := range c.steps {
			if s.kind == room {
				if plugins(pod, changed(object, there, c.steps, s.resource, 1)) == nil {
					t.Fatalf("one less of %s is enough: %+v", s.resource, told)
				}
				continue
			}
			rest = append(rest, s)
			if plugins(pod, changed(object, there, slices.Delete(slices.Clone(c.steps), i, i+1), "", 0)) == nil {
				t.Fatalf("step %d of %+v is not needed", i, told)
			}
		}
		if len(rest) == len(c.steps) {
			if c.evict != nil {
				t.Fatalf("enough room, and still %v have to go", c.evict)
			}
			return
		}
		instead(t, pod, object, there, &c, rest)
	})
	if !t.Failed() && (never == 0 || found == 0) {
		t.Errorf("%d cases of nodes that could change, %d of others", found, never)
	}
}

// instead looks at what is said instead of more room: fewer pods there, or that
// the pod requests less.
func instead(t *rapid.T, pod *framework.PodInfo, object *corev1.Node, there []*framework.PodInfo, c *Change, rest []*candidate) {
	if c.evict == nil {
		var all []string
		for _, p := range there {
			all = append(all, p.Key)
		}
		if plugins(pod, changed(object, there, rest, "", 0, all...)) == nil {
			t.Fatalf("it would fit without pods, and none is said to go")
		}
	} else {
		if st := plugins(pod, changed(object, there, rest, "", 0, c.evict...)); st != nil {
			t.Fatalf("without %v still: %s", c.evict, st.Message())
		}
		for i := range c.evict {
			if plugins(pod, changed(object, there, rest, "", 0, slices.Delete(slices.Clone(c.evict), i, i+1)...)) == nil {
				t.Fatalf("%s of %v need not go", c.evict[i], c.evict)
			}
		}
	}
	amounts := c.Amounts()
	if amounts[corev1.ResourcePods] > 0 {
		return
	}
	smaller := func(more int64) *framework.PodInfo {
		p := pod.Pod.DeepCopy()
		requests := p.Spec.Containers[0].Resources.Requests
		for r, n := range amounts {
			left := max(amount(&pod.Requests, r)-n+more, 0)
			if r == corev1.ResourceCPU {
				requests[r] = *resource.NewMilliQuantity(left, resource.DecimalSI)
			} else {
				requests[r] = *resource.NewQuantity(left, resource.DecimalSI)
			}
		}
		return framework.NewPodInfo(p)
	}
	if st := plugins(smaller(0), changed(object, there, rest, "", 0)); st != nil {
		t.Fatalf("a pod that requests less by %v is still rejected: %s", amounts, st.Message())
	}
	for r, n := range amounts {
		if amount(&pod.Requests, r) < n {
			return // the node is overcommitted: what requests none of it fits, and that is said
		}
	}
	if plugins(smaller(1), changed(object, there, rest, "", 0)) == nil {
		t.Fatalf("a pod that requests less by one less than %v fits too", amounts)
	}
}

// byWhatItIs reports whether a pod wants another node than this by what nobody changes,
// in some term at least, or by what there is near.
func byWhatItIs(pod *corev1.Pod) bool {
	if _, ok := pod.Spec.NodeSelector[corev1.LabelHostname]; ok {
		return true
	}
	if len(pod.Spec.TopologySpreadConstraints) > 0 {
		return true // the nodes beside this one decide as well
	}
	if a := pod.Spec.Affinity; a != nil && a.PodAffinity != nil {
		return true
	}
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			if slices.ContainsFunc(term.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool { return r.Key == corev1.LabelHostname }) {
				return true
			}
		}
	}
	return false
}
