package defaultpreemption

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/scheduler/framework"
	"kviz/cluster/scheduler/plugins/noderesources"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// fits is a cluster whose only filter is NodeResourcesFit.
type fits []*framework.NodeInfo

func (f fits) Nodes() []*framework.NodeInfo { return f }

func (f fits) AddPod(_ *framework.CycleState, _ *corev1.Pod, p *framework.PodInfo, n *framework.NodeInfo) {
	n.AddPod(p)
}

func (f fits) RemovePod(_ *framework.CycleState, _ *corev1.Pod, p *framework.PodInfo, n *framework.NodeInfo) {
	n.RemovePod(p.Key)
}

func (f fits) Preempting(*corev1.Pod) bool { return false }

func (f fits) Budgets() []*policyv1.PodDisruptionBudget { return budgetsOf(f) }

// budgetsOf has one budget for each label app of the pods: as many may go as its value says
// ("web-1" allows one).
func budgetsOf(nodes []*framework.NodeInfo) (list []*policyv1.PodDisruptionBudget) {
	seen := map[string]bool{}
	for _, n := range nodes {
		for _, p := range n.Pods {
			app := p.Pod.Labels["app"]
			if app == "" || seen[app] {
				continue
			}
			seen[app] = true
			_, allowed, _ := strings.Cut(app, "-")
			b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: app}}
			b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
			if _, err := fmt.Sscan(allowed, &b.Status.DisruptionsAllowed); err != nil {
				panic(err)
			}
			list = append(list, b)
		}
	}
	slices.SortFunc(list, func(a, b *policyv1.PodDisruptionBudget) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func (f fits) Fits(state *framework.CycleState, pod *corev1.Pod, node *framework.NodeInfo) *framework.Status {
	pl := &noderesources.Fit{}
	pl.PreFilter(state, pod, nil)
	return pl.Filter(state, pod, node)
}

func makePod(name string, milli int64, priority int32, started int) *corev1.Pod {
	var at *metav1.Time
	if started > 0 {
		at = &metav1.Time{Time: time.Unix(int64(started), 0)}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, CreationTimestamp: metav1.Unix(1, 0)},
		Spec: corev1.PodSpec{Priority: &priority, Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(milli, resource.DecimalSI)},
		}}}},
		Status: corev1.PodStatus{StartTime: at},
	}
}

// makeNode reads pods as "name/milli/priority/started"; 0 is not started yet. A name
// may be followed by the label app: "name:web-1".
func makeNode(name string, pods ...string) *framework.NodeInfo {
	n := framework.NewNodeInfo(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourcePods: resource.MustParse("10"),
	}}})
	for _, s := range pods {
		var milli int64
		var priority int32
		var started int
		who, rest, _ := strings.Cut(s, "/")
		if _, err := fmt.Sscanf(rest, "%d/%d/%d", &milli, &priority, &started); err != nil {
			panic(err)
		}
		who, app, labelled := strings.Cut(who, ":")
		pod := makePod(who, milli, priority, started)
		if labelled {
			pod.Labels = map[string]string{"app": app}
		}
		n.AddPod(framework.NewPodInfo(pod))
	}
	return n
}

// The criteria of pickOneNodeForPreemption, one after another, and whom
// SelectVictimsOnNode spares.
func TestPostFilter(t *testing.T) {
	for name, tt := range map[string]struct {
		pod   *corev1.Pod
		nodes []*framework.NodeInfo
		want  string
	}{
		"only lower priorities are victims": {
			makePod("p", 500, 10, 0),
			[]*framework.NodeInfo{makeNode("n1", "a/600/10/1"), makeNode("n2", "b/600/9/1")},
			"n2 [demo/b]",
		},
		"those that may stay are put back, the most important first": {
			makePod("p", 500, 10, 0),
			[]*framework.NodeInfo{makeNode("n1", "a/300/1/1", "b/300/5/1", "c/400/3/1")},
			"n1 [demo/c demo/a]",
		},
		"the older of equal pods stays": {
			makePod("p", 500, 10, 0),
			[]*framework.NodeInfo{makeNode("n1", "young/500/1/9", "old/500/1/2")},
			"n1 [demo/young]",
		},
		"one that has not started is the youngest, however old the object is": {
			makePod("p", 500, 10, 0),
			[]*framework.NodeInfo{makeNode("n1", "a/500/1/0", "b/500/1/9")},
			"n1 [demo/a]",
		},
		"and goes before one that started last": {
			makePod("p", 500, 10, 0),
			[]*framework.NodeInfo{makeNode("n1", "a/900/5/1"), makeNode("n2", "b/900/5/0"), makeNode("n3", "c/900/5/8")},
			"n2 [demo/b]",
		},
		"lowest of the highest priorities": {
			makePod("p", 500, 10, 0),
			[]*framework.NodeInfo{makeNode("n1", "a/900/5/1"), makeNode("n2", "b/900/4/1"), makeNode("n3", "c/900/6/1")},
			"n2 [demo/b]",
		},
		"then the lowest sum": {
			makePod("p", 900, 10, 0),
			[]*framework.NodeInfo{makeNode("n1", "a/500/5/1", "b/500/4/1"), makeNode("n2", "c/500/5/1", "d/500/1/1")},
			"n2 [demo/c demo/d]",
		},
		"fewer victims, though their priorities are negative": {
			makePod("p", 900, 10, 0),
			[]*framework.NodeInfo{makeNode("n1", "a/500/-3/1", "b/500/-3/1"), makeNode("n2", "c/900/-3/1")},
			"n2 [demo/c]",
		},
		"then the latest start": {
			makePod("p", 500, 10, 0),
			[]*framework.NodeInfo{makeNode("n1", "a/900/5/1"), makeNode("n2", "b/900/5/8"), makeNode("n3", "c/900/5/3")},
			"n2 [demo/b]",
		},
		"first of all, no budget is violated": {
			makePod("p", 500, 10, 0),
			[]*framework.NodeInfo{makeNode("n1", "a:web-0/900/1/1"), makeNode("n2", "b:db-1/900/9/1")},
			"n2 [demo/b]",
		},
		"or as few as can be": {
			makePod("p", 900, 10, 0),
			[]*framework.NodeInfo{makeNode("n1", "a:web-1/300/1/1", "b:web-1/300/1/1", "c:web-1/300/1/1"), makeNode("n2", "d:web-1/500/9/1", "e:web-1/500/9/1")},
			"n2 [demo/d demo/e]",
		},
		"a pod that its budget keeps is spared before more important ones": {
			makePod("p", 500, 10, 0),
			[]*framework.NodeInfo{makeNode("n1", "kept:web-0/500/1/1", "free/500/5/1")},
			"n1 [demo/free]",
		},
		"the budget is charged for the most important pods first": {
			makePod("p", 500, 10, 0),
			[]*framework.NodeInfo{makeNode("n1", "low:web-1/500/1/1", "high:web-1/500/5/1")},
			"n1 [demo/high]",
		},
		"nobody to evict": {
			makePod("p", 500, 10, 0),
			[]*framework.NodeInfo{makeNode("n1", "a/900/50/1"), makeNode("n2", "b/900/10/1")},
			"preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod.",
		},
		"evicting everybody would not do": {
			makePod("p", 800, 10, 0),
			[]*framework.NodeInfo{makeNode("n1", "a/600/50/1", "b/300/1/1"), makeNode("n2", "c/900/50/1")},
			"preemption: 0/2 nodes are available: 1 Insufficient cpu, 1 No preemption victims found for incoming pod.",
		},
		"too big for any node": {
			makePod("p", 1800, 10, 0),
			[]*framework.NodeInfo{makeNode("n1", "a/600/1/1")},
			"preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := postFilter(t, tt.pod, tt.nodes); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func postFilter(t *testing.T, pod *corev1.Pod, nodes []*framework.NodeInfo) (got string) {
	k := sim.New(sim.Config{Seed: 1})
	k.NewProcess(trace.Lane{Component: "test"}).Go("main", func(task *sim.Task) {
		defer k.Stop()
		state, statuses := &framework.CycleState{}, &framework.NodeStatuses{}
		for _, n := range nodes {
			if st := fits(nodes).Fits(state, pod, n); st != nil {
				statuses.Set(n.Node.Name, st)
			}
		}
		before := fmt.Sprint(nodes[0].Requested)
		res, st := (&DefaultPreemption{Cluster: fits(nodes)}).PostFilter(task, state, pod, statuses)
		got = st.Message()
		if st.IsSuccess() {
			got = fmt.Sprint(res.NominatedNode, " ", res.Victims)
		}
		if after := fmt.Sprint(nodes[0].Requested); after != before {
			t.Errorf("the dry run changed a node: %s, %s before", after, before)
		}
	})
	if err := k.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestNotEligible(t *testing.T) {
	never := corev1.PreemptNever
	p := makePod("p", 500, 10, 0)
	p.Spec.PreemptionPolicy = &never
	if got := postFilter(t, p, []*framework.NodeInfo{makeNode("n1", "a/900/1/1")}); got != "preemption: not eligible due to preemptionPolicy=Never." {
		t.Error(got)
	}
	waiting := makePod("p", 500, 10, 0)
	waiting.Status.NominatedNodeName = "n1"
	n := makeNode("n1", "a/900/1/1")
	for _, v := range n.Pods {
		v.Pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(9, 0)}
		v.Pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler}}
	}
	if got := postFilter(t, waiting, []*framework.NodeInfo{n}); got != "preemption: not eligible due to a terminating pod on the nominated node." {
		t.Error(got)
	}
}
