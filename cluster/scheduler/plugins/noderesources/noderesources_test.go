package noderesources

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"kviz/cluster/scheduler/framework"
)

// amounts reads "cpu=1 memory=2Gi pods=10".
func amounts(s string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for _, f := range strings.Fields(s) {
		name, q, _ := strings.Cut(f, "=")
		list[corev1.ResourceName(name)] = resource.MustParse(q)
	}
	return list
}

func podOf(requests ...string) *corev1.Pod {
	p := &corev1.Pod{}
	for _, r := range requests {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Resources: corev1.ResourceRequirements{Requests: amounts(r)}})
	}
	return p
}

func nodeOf(allocatable string, pods ...string) *framework.NodeInfo {
	n := framework.NewNodeInfo(&corev1.Node{Status: corev1.NodeStatus{Allocatable: amounts(allocatable)}})
	for i, r := range pods {
		p := podOf(r)
		p.Name = string(rune('a' + i))
		n.AddPod(framework.NewPodInfo(p))
	}
	return n
}

func TestFit(t *testing.T) {
	for name, tt := range map[string]struct {
		pod  *corev1.Pod
		node *framework.NodeInfo
		want string
		code framework.Code
	}{
		"no requests fit always":    {podOf(""), nodeOf("cpu=1 memory=1Gi pods=1", ""), "Too many pods", framework.Unschedulable},
		"just enough":               {podOf("cpu=500m memory=512Mi"), nodeOf("cpu=1 memory=1Gi pods=9", "cpu=500m memory=512Mi"), "", framework.Success},
		"cpu":                       {podOf("cpu=501m"), nodeOf("cpu=1 memory=1Gi pods=9", "cpu=500m"), "Insufficient cpu", framework.Unschedulable},
		"cpu and memory":            {podOf("cpu=600m memory=600Mi"), nodeOf("cpu=1 memory=1Gi pods=9", "cpu=500m memory=512Mi"), "Insufficient cpu, Insufficient memory", framework.Unschedulable},
		"more than the node has":    {podOf("cpu=2"), nodeOf("cpu=1 memory=1Gi pods=9"), "Insufficient cpu", framework.UnschedulableAndUnresolvable},
		"containers add up":         {podOf("cpu=600m", "cpu=600m"), nodeOf("cpu=1 memory=1Gi pods=9"), "Insufficient cpu", framework.UnschedulableAndUnresolvable},
		"ephemeral storage":         {podOf("ephemeral-storage=2Gi"), nodeOf("cpu=1 ephemeral-storage=1Gi pods=9"), "Insufficient ephemeral-storage", framework.UnschedulableAndUnresolvable},
		"extended resource":         {podOf("example.com/gpu=1"), nodeOf("cpu=1 example.com/gpu=1 pods=9", "example.com/gpu=1"), "Insufficient example.com/gpu", framework.Unschedulable},
		"extended resource, absent": {podOf("example.com/gpu=1"), nodeOf("cpu=1 pods=9"), "Insufficient example.com/gpu", framework.UnschedulableAndUnresolvable},
		"all of it":                 {podOf("cpu=2 memory=2Gi"), nodeOf("cpu=3 memory=3Gi pods=1", "cpu=2 memory=2Gi"), "Too many pods, Insufficient cpu, Insufficient memory", framework.Unschedulable},
	} {
		pl, state := &Fit{}, &framework.CycleState{}
		pl.PreFilter(state, tt.pod, nil)
		if got := pl.Filter(state, tt.pod, tt.node); got.Message() != tt.want || got.Code() != tt.code {
			t.Errorf("%s: %v %q, want %v %q", name, got.Code(), got.Message(), tt.code, tt.want)
		}
	}
}

func TestInitContainersRunBeforeAndOverheadAdds(t *testing.T) {
	p := podOf("cpu=500m", "cpu=500m")
	p.Spec.InitContainers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: amounts("cpu=2")}}}
	p.Spec.Overhead = amounts("cpu=100m")
	if got := framework.PodRequests(p).MilliCPU; got != 2100 {
		t.Errorf("%dm, want the greatest init container and the overhead, 2100m", got)
	}
}

// The scores are those of upstream's tables (least_allocated_test.go,
// most_allocated_test.go, balanced_allocation_test.go).
func TestScores(t *testing.T) {
	for name, tt := range map[string]struct {
		pod                   *corev1.Pod
		node                  *framework.NodeInfo
		least, most, balanced int64
	}{
		"nothing requested on an empty node (defaults 100m, 200Mi count)": {
			podOf(""), nodeOf("cpu=4 memory=10000Mi pods=9"), (97 + 98) / 2, (2 + 2) / 2, -1,
		},
		"requested, empty node": {
			podOf("cpu=1", "cpu=2 memory=5000Mi"), nodeOf("cpu=4 memory=10000Mi pods=9"), (25 + 48) / 2, (75 + 52) / 2, 68,
		},
		"requested, larger node": {
			podOf("cpu=1 memory=2000Mi", "cpu=2 memory=3000Mi"), nodeOf("cpu=6 memory=10000Mi pods=9"), 50, 50, 75,
		},
		"more than there is scores 0, or all": {
			podOf("cpu=6 memory=1000Mi"), nodeOf("cpu=4 memory=2000Mi pods=9"), (0 + 50) / 2, (100 + 50) / 2, 62,
		},
		"the pod evens out": {
			podOf("memory=5000Mi"), nodeOf("cpu=4 memory=10000Mi pods=9", "cpu=2"), (47 + 47) / 2, (52 + 52) / 2, 87,
		},
	} {
		for _, s := range []struct {
			strategy config.ScoringStrategyType
			want     int64
		}{{config.LeastAllocated, tt.least}, {config.MostAllocated, tt.most}} {
			pl := NewFit(&config.NodeResourcesFitArgs{ScoringStrategy: &config.ScoringStrategy{Type: s.strategy, Resources: []config.ResourceSpec{{Name: "cpu", Weight: 1}, {Name: "memory", Weight: 1}}}})
			state := &framework.CycleState{}
			pl.PreScore(state, tt.pod, nil)
			if got := pl.Score(state, tt.pod, tt.node); got != s.want {
				t.Errorf("%s: %s %d, want %d (%s)", name, s.strategy, got, s.want, pl.ExplainScore(state, tt.pod, tt.node))
			}
		}
		pl, state := &BalancedAllocation{}, &framework.CycleState{}
		if st := pl.PreScore(state, tt.pod, nil); st.IsSkip() != (tt.balanced < 0) {
			t.Errorf("%s: skip %v", name, st.IsSkip())
		} else if !st.IsSkip() {
			if got := pl.Score(state, tt.pod, tt.node); got != tt.balanced {
				t.Errorf("%s: balanced %d, want %d (%s)", name, got, tt.balanced, pl.ExplainScore(state, tt.pod, tt.node))
			}
		}
	}
}

// What a pod requests as a whole counts where it must fit and for the balance, and
// on the node once it is there, but not for Fit's score of the pod: upstream's NewFit
// sets enablePodLevelResources for the plugin and not for its scorer.
func TestPodLevelRequestsDoNotCountInFitsScore(t *testing.T) {
	pod := podOf("cpu=1", "")
	pod.Spec.Resources = &corev1.ResourceRequirements{Requests: amounts("cpu=3 memory=4000Mi")}
	node := nodeOf("cpu=4 memory=10000Mi pods=9")
	fit, state := &Fit{}, &framework.CycleState{Pod: framework.NewPodInfo(pod)}
	fit.PreScore(state, pod, nil)
	if got, want := fit.Score(state, pod, node), int64((72+96)/2); got != want { // 1100m of 4, 400Mi of 10000
		t.Errorf("Fit scores %d, want %d (%s)", got, want, fit.ExplainScore(state, pod, node))
	}
	balanced := &BalancedAllocation{}
	balanced.PreScore(state, pod, nil)
	if got, want := balanced.Score(state, pod, node), int64(66); got != want { // 3 of 4, 4000Mi of 10000
		t.Errorf("the balance scores %d, want %d (%s)", got, want, balanced.ExplainScore(state, pod, node))
	}
	fit.PreFilter(state, pod, nil)
	if st := fit.Filter(state, pod, nodeOf("cpu=2 memory=10000Mi pods=9")); st.Message() != "Insufficient cpu" {
		t.Errorf("three cores on a node of two: %q", st.Message())
	}
	node.AddPod(framework.NewPodInfo(pod))
	if got := node.NonZeroRequested.MilliCPU; got != 3000 {
		t.Errorf("on the node it counts for %dm, want 3000m", got)
	}
}

// TestBalancedAllocation has upstream's own cases with CPU in thousandths and
// memory in bytes.
func TestBalancedAllocation(t *testing.T) {
	for name, tt := range map[string]struct {
		pod  *corev1.Pod
		node *framework.NodeInfo
		want int64
	}{
		"beside a cpu pod":               {podOf("cpu=1 memory=2000", "cpu=2 memory=3000"), nodeOf("cpu=10 memory=20000 pods=9", "cpu=3"), 73},
		"beside a pod of the same shape": {podOf("cpu=1 memory=2000", "cpu=2 memory=3000"), nodeOf("cpu=10 memory=20000 pods=9", "cpu=3 memory=5000"), 74},
		"much memory there":              {podOf("cpu=1 memory=2000", "cpu=2 memory=3000"), nodeOf("cpu=10 memory=50000 pods=9", "cpu=3 memory=5000"), 70},
		"from worst to best":             {podOf("memory=2000", "memory=3000"), nodeOf("cpu=3 memory=5000 pods=9", "cpu=3"), 100},
		"from best to worst":             {podOf("memory=2000", "memory=3000"), nodeOf("cpu=3 memory=5000 pods=9"), 50},
	} {
		pl, state := &BalancedAllocation{}, &framework.CycleState{}
		pl.PreScore(state, tt.pod, nil)
		if got := pl.Score(state, tt.pod, tt.node); got != tt.want {
			t.Errorf("%s: %d, want %d (%s)", name, got, tt.want, pl.ExplainScore(state, tt.pod, tt.node))
		}
	}
}

func TestHints(t *testing.T) {
	pod := podOf("cpu=1")
	small, big := nodeOf("cpu=500m pods=9").Node, nodeOf("cpu=2 pods=9").Node
	more := nodeOf("cpu=2 memory=1Gi pods=9").Node
	for name, tt := range map[string]struct {
		old, new *corev1.Node
		want     bool
	}{
		"new node, big enough":   {nil, big, true},
		"new node, too small":    {nil, small, false},
		"grew in what is wanted": {small, big, true},
		"shrank":                 {big, small, false},
		"grew in something else": {big, more, false},
		"has room for more pods": {nodeOf("cpu=2 pods=3").Node, big, true},
	} {
		if got := (&Fit{}).afterNodeChange(pod, tt.old, tt.new); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
	gone := podOf("cpu=1")
	if afterPodDelete(pod, gone, nil) {
		t.Error("a pod without a node freed something")
	}
	gone.Spec.NodeName = "n"
	if !afterPodDelete(pod, gone, nil) {
		t.Error("a pod on a node freed nothing")
	}
	if !afterPodScaleDown(pod, podOf("cpu=2"), podOf("cpu=1")) || afterPodScaleDown(pod, podOf("memory=2Gi"), podOf("memory=1Gi")) {
		t.Error("only a pod that gives back cpu helps a pod that wants cpu")
	}
}
