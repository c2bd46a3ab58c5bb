package volumebinding

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"
	"pgregory.net/rapid"

	"kviz/raftstore/steady"
)

// withAffinity is a volume with these terms, and one more that makes its affinity large and that no node fits.
func withAffinity(version string, terms ...corev1.NodeSelectorTerm) *corev1.PersistentVolume {
	never := corev1.NodeSelectorRequirement{Key: "never", Operator: corev1.NodeSelectorOpIn}
	for i := range largeAffinity {
		never.Values = append(never.Values, fmt.Sprint("v", i))
	}
	terms = append(terms, corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{never}})
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "disk", ResourceVersion: version}}
	v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: terms}}
	return v
}

// A large node affinity is answered as upstream answers it, whether or not its terms can be parsed.
func TestReachesWhatUpstreamReaches(t *testing.T) {
	reached, not := 0, 0
	steady.Check(t, func(t *rapid.T) {
		known := affinities{}
		value := rapid.SampledFrom([]string{"", "a", "b", "1", "2", "30", "-1", "no value!"})
		key := rapid.SampledFrom([]string{"x", "y", "z/k", "no key!"})
		requirements := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) corev1.NodeSelectorRequirement {
			return corev1.NodeSelectorRequirement{
				Key:      key.Draw(t, "key"),
				Operator: corev1.NodeSelectorOperator(rapid.SampledFrom([]string{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Near"}).Draw(t, "operator")),
				Values:   rapid.SliceOfN(value, 0, 3).Draw(t, "values"),
			}
		}), 0, 3)
		terms := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) corev1.NodeSelectorTerm {
			term := corev1.NodeSelectorTerm{MatchExpressions: requirements.Draw(t, "expressions")}
			if rapid.IntRange(0, 5).Draw(t, "fields") == 0 {
				term.MatchFields = requirements.Draw(t, "matchFields")
			}
			return term
		}), 0, 4).Draw(t, "terms")
		v := withAffinity("1", terms...)
		for range 3 {
			labels := rapid.MapOfN(key, value, 0, 3).Draw(t, "labels")
			want := volume.CheckNodeAffinity(v, labels) == nil
			if got := known.reaches(v, labels); got != want {
				t.Fatalf("a node with labels %v: %v, upstream says %v, of %v", labels, got, want, terms)
			}
			if want {
				reached++
			} else {
				not++
			}
		}
	})
	if reached == 0 || not == 0 {
		t.Errorf("%d volumes were reached, %d not", reached, not)
	}
}

// However many nodes are looked at, only terms that fit are parsed, and once; a volume that has changed is
// parsed again.
func TestLargeAffinitiesAreParsedOnce(t *testing.T) {
	exists := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "x", Operator: corev1.NodeSelectorOpExists}}}
	v, known := withAffinity("1", exists), affinities{}
	for i := range 50 {
		if !known.reaches(v, map[string]string{"x": fmt.Sprint(i)}) || known.reaches(v, map[string]string{"y": ""}) {
			t.Fatal("the wrong node is reached")
		}
	}
	if a := known["disk"]; len(a.valid) != 1 || !a.valid[0] {
		t.Errorf("what is known of its terms: %v", a.valid)
	}
	exists.MatchExpressions[0].Key = "no key!"
	if known.reaches(withAffinity("2", exists), map[string]string{"no key!": ""}) {
		t.Error("a term that cannot be parsed fits")
	}
	list := []*corev1.PersistentVolume{v, {ObjectMeta: metav1.ObjectMeta{Name: "plain"}}}
	judged := known.judged(list, map[string]string{"y": ""})
	if large(judged[0]) || volume.CheckNodeAffinity(judged[0], map[string]string{"y": ""}) == nil || whole(judged[0], list, judged) != v || judged[1] != list[1] {
		t.Error("a volume with a large affinity is not judged")
	}
}
