package tainttoleration

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/scheduler/framework"
)

func taint(key string, effect corev1.TaintEffect) corev1.Taint {
	return corev1.Taint{Key: key, Value: "v", Effect: effect}
}

func node(taints ...corev1.Taint) *corev1.Node {
	return &corev1.Node{Spec: corev1.NodeSpec{Taints: taints}}
}

func tolerating(ts ...corev1.Toleration) *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{Tolerations: ts}}
}

const (
	no      = corev1.TaintEffectNoSchedule
	exec    = corev1.TaintEffectNoExecute
	prefer  = corev1.TaintEffectPreferNoSchedule
	refusal = "node(s) had untolerated taint(s)"
)

func TestFilter(t *testing.T) {
	for name, tt := range map[string]struct {
		pod  *corev1.Pod
		node *corev1.Node
		want string
	}{
		"no taints":               {tolerating(), node(), ""},
		"NoSchedule":              {tolerating(), node(taint("a", no)), refusal},
		"NoExecute":               {tolerating(), node(taint("a", exec)), refusal},
		"PreferNoSchedule":        {tolerating(), node(taint("a", prefer)), ""},
		"tolerated by Exists":     {tolerating(corev1.Toleration{Key: "a", Operator: corev1.TolerationOpExists}), node(taint("a", no)), ""},
		"tolerated by value":      {tolerating(corev1.Toleration{Key: "a", Value: "v"}), node(taint("a", no)), ""},
		"other value":             {tolerating(corev1.Toleration{Key: "a", Value: "w"}), node(taint("a", no)), refusal},
		"other effect":            {tolerating(corev1.Toleration{Key: "a", Value: "v", Effect: no}), node(taint("a", exec)), refusal},
		"one of two tolerated":    {tolerating(corev1.Toleration{Key: "a", Operator: corev1.TolerationOpExists}), node(taint("a", no), taint("b", no)), refusal},
		"everything is tolerated": {tolerating(corev1.Toleration{Operator: corev1.TolerationOpExists}), node(taint("a", no), taint("b", exec)), ""},
	} {
		got := (&TaintToleration{}).Filter(nil, tt.pod, framework.NewNodeInfo(tt.node))
		if got.Message() != tt.want {
			t.Errorf("%s: %q, want %q", name, got.Message(), tt.want)
		}
	}
}

// Scores as in upstream's table: the fewer intolerable taints, the better.
func TestScore(t *testing.T) {
	for name, tt := range map[string]struct {
		pod   *corev1.Pod
		nodes []*corev1.Node
		want  []int64
	}{
		"none intolerable": {tolerating(), []*corev1.Node{node(), node(taint("a", no))}, []int64{100, 100}},
		"two of three": {
			tolerating(corev1.Toleration{Key: "a", Operator: corev1.TolerationOpExists}),
			[]*corev1.Node{node(taint("a", prefer)), node(taint("b", prefer)), node(taint("b", prefer), taint("c", prefer))},
			[]int64{100, 50, 0},
		},
		"a NoSchedule toleration is none for PreferNoSchedule": {
			tolerating(corev1.Toleration{Key: "a", Operator: corev1.TolerationOpExists, Effect: no}),
			[]*corev1.Node{node(taint("a", prefer)), node()},
			[]int64{0, 100},
		},
	} {
		pl, state := &TaintToleration{}, &framework.CycleState{}
		pl.PreScore(state, tt.pod, nil)
		var scores []int64
		for _, n := range tt.nodes {
			scores = append(scores, pl.Score(state, tt.pod, framework.NewNodeInfo(n)))
		}
		pl.NormalizeScore(state, nil, scores)
		if !slices.Equal(scores, tt.want) {
			t.Errorf("%s: %v, want %v", name, scores, tt.want)
		}
	}
}

func TestHints(t *testing.T) {
	for name, tt := range map[string]struct {
		old, new *corev1.Node
		want     bool
	}{
		"new node":                  {nil, node(), true},
		"new tainted node":          {nil, node(taint("a", no)), false},
		"taint removed":             {node(taint("a", no)), node(), true},
		"one of two taints removed": {node(taint("a", no), taint("b", no)), node(taint("a", no)), false},
		"taint added":               {node(), node(taint("a", no)), false},
	} {
		if got := afterNodeChange(tolerating(), tt.old, tt.new); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
