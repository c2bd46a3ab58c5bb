package nodeaffinity

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/scheduler/framework"
)

func node(name string, labels map[string]string) *framework.NodeInfo {
	return framework.NewNodeInfo(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
}

func in(key string, values ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}}}
}

func named(names ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: names}}}
}

func required(selector map[string]string, terms ...corev1.NodeSelectorTerm) *corev1.Pod {
	p := &corev1.Pod{Spec: corev1.PodSpec{NodeSelector: selector}}
	if terms != nil {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}
	}
	return p
}

func TestFilter(t *testing.T) {
	a := node("a", map[string]string{"zone": "z1", "disk": "ssd"})
	for name, tt := range map[string]struct {
		pod   *corev1.Pod
		fits  bool
		names string // what PreFilter leaves
	}{
		"nothing asked":              {required(nil), true, "skip"},
		"selector matches":           {required(map[string]string{"disk": "ssd"}), true, "all"},
		"selector does not match":    {required(map[string]string{"disk": "hdd"}), false, "all"},
		"term matches":               {required(nil, in("zone", "z2", "z1")), true, "all"},
		"no term matches":            {required(nil, in("zone", "z2"), in("zone", "z3")), false, "all"},
		"one of two terms matches":   {required(nil, in("zone", "z2"), in("disk", "ssd")), true, "all"},
		"selector and term":          {required(map[string]string{"disk": "hdd"}, in("zone", "z1")), false, "all"},
		"by name":                    {required(nil, named("a")), true, "map[a:true]"},
		"by another name":            {required(nil, named("b")), false, "map[b:true]"},
		"by name or by label":        {required(nil, named("b"), in("zone", "z1")), true, "all"},
		"names of two terms":         {required(nil, named("a"), named("b", "c")), true, "map[a:true b:true c:true]"},
		"no terms matches nothing":   {required(nil, []corev1.NodeSelectorTerm{}...), false, "all"},
		"an empty term matches none": {required(nil, corev1.NodeSelectorTerm{}), false, "all"},
	} {
		pl, state := &NodeAffinity{}, &framework.CycleState{}
		pre, st := pl.PreFilter(state, tt.pod, nil)
		left := "all"
		switch {
		case st.IsSkip():
			left = "skip"
		case !st.IsSuccess():
			left = st.Message()
		case pre != nil:
			left = fmt.Sprint(pre.NodeNames)
		}
		if left != tt.names {
			t.Errorf("%s: PreFilter leaves %s, want %s", name, left, tt.names)
		}
		if st.IsSkip() {
			continue
		}
		got := pl.Filter(state, tt.pod, a)
		if got.IsSuccess() != tt.fits || !tt.fits && got.Message() != "node(s) didn't match Pod's node affinity/selector" {
			t.Errorf("%s: %q, want fits %v", name, got.Message(), tt.fits)
		}
	}
}

func TestConflictingNames(t *testing.T) {
	term := named("a")
	term.MatchFields = append(term.MatchFields, named("b").MatchFields...)
	_, st := (&NodeAffinity{}).PreFilter(&framework.CycleState{}, required(nil, term), nil)
	if st.Message() != "pod affinity terms conflict" || st.Code() != framework.UnschedulableAndUnresolvable {
		t.Errorf("%v %q", st.Code(), st.Message())
	}
}

func TestScore(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 2, Preference: in("zone", "z1")}, {Weight: 5, Preference: in("disk", "ssd")}},
	}}}}
	pl, state := &NodeAffinity{}, &framework.CycleState{}
	if st := pl.PreScore(state, pod, nil); !st.IsSuccess() {
		t.Fatal(st.Err())
	}
	var scores []int64
	for _, labels := range []map[string]string{nil, {"zone": "z1"}, {"disk": "ssd"}, {"zone": "z1", "disk": "ssd"}} {
		scores = append(scores, pl.Score(state, pod, node("n", labels)))
	}
	if !slices.Equal(scores, []int64{0, 2, 5, 7}) {
		t.Errorf("raw %v", scores)
	}
	pl.NormalizeScore(state, nil, scores)
	if !slices.Equal(scores, []int64{0, 28, 71, 100}) {
		t.Errorf("normalised %v", scores)
	}
	if st := pl.PreScore(state, required(nil), nil); !st.IsSkip() {
		t.Errorf("a pod that prefers nothing: %v", st.Code())
	}
}

func TestHints(t *testing.T) {
	pod := required(map[string]string{"disk": "ssd"})
	ssd, hdd := node("n", map[string]string{"disk": "ssd"}).Node, node("n", nil).Node
	for name, tt := range map[string]struct {
		old, new *corev1.Node
		want     bool
	}{
		"new node that matches":       {nil, ssd, true},
		"new node that does not":      {nil, hdd, false},
		"label added":                 {hdd, ssd, true},
		"label removed":               {ssd, hdd, false},
		"matched before, and does so": {ssd, ssd, false},
	} {
		if got := (&NodeAffinity{}).afterNodeChange(pod, tt.old, tt.new); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
