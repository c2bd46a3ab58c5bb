package framework

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"kviz/raftstore/steady"
)

// Pods come, change and go: the kinds are the same as if the pods that are there had been
// counted afresh, and pods of one kind are alike.
func TestKindsAreThoseOfThePodsThatAreThere(t *testing.T) {
	many := 0
	steady.Check(t, func(r *rapid.T) {
		kinds := &PodKinds{}
		nodes := []*NodeInfo{NewNodeInfo(nil), NewNodeInfo(nil), NewNodeInfo(nil)}
		for range rapid.IntRange(1, 60).Draw(r, "changes") {
			n := rapid.SampledFrom(nodes).Draw(r, "node")
			p := drawPod(r)
			if old := n.Pods[PodKey(p)]; old != nil {
				n.RemovePod(old.Key)
				kinds.Remove(old, n)
				if rapid.Bool().Draw(r, "ends") {
					continue
				}
				p.Spec.Affinity = old.Pod.Spec.Affinity // it never changes
				if rapid.Bool().Draw(r, "known") {
					i := old.With(p)
					n.AddPod(i)
					kinds.Add(i, n)
					continue
				}
			}
			i := NewPodInfo(p)
			n.AddPod(i)
			kinds.Add(i, n)
		}
		got, want := told(kinds.All(), nodes), told(KindsOf(nodes).All(), nodes)
		if !slices.Equal(got, want) {
			r.Fatalf("got\n%q, want\n%q", got, want)
		}
		got, want = told(kinds.WithAffinity(), nodes), told(KindsOf(nodes).WithAffinity(), nodes)
		if !slices.Equal(got, want) {
			r.Fatalf("with affinity: got\n%q, want\n%q", got, want)
		}
		for _, kind := range kinds.All() {
			pods := 0
			for _, on := range kind.On {
				pods += on.Pods
			}
			many = max(many, pods)
		}
	})
	if many < 4 {
		t.Errorf("no kind had more than %d pods: too little happened", many)
	}
}

func drawPod(r *rapid.T) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: rapid.SampledFrom([]string{"a", "b"}).Draw(r, "namespace"), Name: fmt.Sprint(rapid.IntRange(0, 9).Draw(r, "name")),
		Labels: rapid.SampledFrom([]map[string]string{nil, {"app": "x"}, {"app": "y"}, {"app": "x", "tier": "z"}}).Draw(r, "labels"),
	}}
	if rapid.Bool().Draw(r, "going") {
		p.DeletionTimestamp = &metav1.Time{}
	}
	if app := rapid.SampledFrom([]string{"", "", "x", "y"}).Draw(r, "away from"); app != "" {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: metav1.SetAsLabelSelector(map[string]string{"app": app}), TopologyKey: "zone",
		}}}}
	}
	return p
}

// told says how many pods of which kind are where.
func told(kinds []*PodKind, nodes []*NodeInfo) (lines []string) {
	for _, k := range kinds {
		for i, n := range nodes {
			for _, on := range k.On {
				if on.Node == n {
					lines = append(lines, fmt.Sprintf("%s %v %v %v: %d on %d", k.One.Pod.Namespace, k.One.Pod.DeletionTimestamp != nil, k.One.Pod.Labels, k.One.Pod.Spec.Affinity, on.Pods, i))
				}
			}
		}
	}
	slices.Sort(lines)
	return lines
}
