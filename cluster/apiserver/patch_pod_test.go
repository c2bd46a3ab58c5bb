package apiserver

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"pgregory.net/rapid"
)

// What a component's patch of a pod's status makes is what strategic merge makes
// of it, in the order it makes.
func TestPodStatusPatchIsStrategicMerge(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		old := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "u", Labels: map[string]string{"app": "web"}}, Status: drawStatus(r, "old")}
		old.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
		patch := drawPatch(r)

		before := old.DeepCopy()
		got, ok := patchPodStatus(old, patch)
		if !ok {
			r.Fatalf("%s goes the general way", patch)
		}
		if !equality.Semantic.DeepEqual(old, before) {
			r.Fatalf("%s changed the old pod", patch)
		}
		doc, err := json.Marshal(old)
		if err != nil {
			r.Fatal(err)
		}
		merged, err := strategicpatch.StrategicMergePatch(doc, patch, &corev1.Pod{})
		if err != nil {
			r.Fatal(err)
		}
		var want corev1.Pod
		if err := json.Unmarshal(merged, &want); err != nil {
			r.Fatal(err)
		}
		if !equality.Semantic.DeepEqual(got, &want) {
			g, _ := json.Marshal(got)
			r.Fatalf("old   %s\npatch %s\ngot   %s\nwant  %s", doc, patch, g, merged)
		}
	})
}

func TestPatchWithADirectiveGoesTheGeneralWay(t *testing.T) {
	for _, patch := range []string{
		`{"status":{"podIPs":[{"ip":"10.0.0.1","$patch":"delete"}]}}`,
		`{"status":{"$patch":"replace","phase":"Running"}}`,
		`{"metadata":{"labels":{"a":"b"}}}`,
		`{"status":{"nominatedNodeName":"node-1"}}`,
		`{"status":"Running"}`,
		`{"status":`,
	} {
		if _, ok := patchPodStatus(&corev1.Pod{}, []byte(patch)); ok {
			t.Errorf("%s did not go the general way", patch)
		}
	}
}

var conditionTypes = []corev1.PodConditionType{corev1.PodReady, corev1.PodInitialized, corev1.ContainersReady, "example.com/gate"}

func drawStatus(r *rapid.T, label string) corev1.PodStatus {
	word := rapid.SampledFrom([]string{"", "one", "two"})
	ip := rapid.SampledFrom([]string{"10.0.0.1", "10.0.0.2", "10.0.0.3"})
	s := corev1.PodStatus{Phase: corev1.PodPhase(word.Draw(r, label)), Reason: word.Draw(r, label), Message: word.Draw(r, label), PodIP: word.Draw(r, label)}
	for _, a := range rapid.SliceOfNDistinct(ip, 0, 2, rapid.ID[string]).Draw(r, label) {
		s.PodIPs = append(s.PodIPs, corev1.PodIP{IP: a})
		s.HostIPs = append(s.HostIPs, corev1.HostIP{IP: a})
	}
	for _, c := range rapid.SliceOfNDistinct(rapid.SampledFrom(conditionTypes), 0, 3, rapid.ID[corev1.PodConditionType]).Draw(r, label) {
		s.Conditions = append(s.Conditions, corev1.PodCondition{
			Type: c, Status: "True", Reason: word.Draw(r, label), Message: word.Draw(r, label),
			LastTransitionTime: metav1.NewTime(time.Unix(rapid.Int64Range(1, 9).Draw(r, label), 0).UTC()),
		})
	}
	for range rapid.IntRange(0, 2).Draw(r, label) {
		s.ContainerStatuses = append(s.ContainerStatuses, corev1.ContainerStatus{Name: word.Draw(r, label), Image: word.Draw(r, label)})
	}
	return s
}

// drawPatch is a patch such as kubelets write: some fields, some of them null.
func drawPatch(r *rapid.T) []byte {
	to := drawStatus(r, "new")
	d := map[string]any{}
	some := func(name string, v any) {
		switch rapid.IntRange(0, 2).Draw(r, name) {
		case 1:
			d[name] = v
		case 2:
			d[name] = nil
		}
	}
	some("phase", to.Phase)
	some("reason", to.Reason)
	some("message", to.Message)
	some("podIP", to.PodIP)
	some("startTime", metav1.NewTime(time.Unix(7, 0).UTC()))
	some("containerStatuses", to.ContainerStatuses)
	if rapid.Bool().Draw(r, "addresses") {
		d["podIPs"], d["hostIPs"] = append([]corev1.PodIP{}, to.PodIPs...), append([]corev1.HostIP{}, to.HostIPs...)
	}
	if rapid.Bool().Draw(r, "conditions") {
		conditions := []any{}
		for _, c := range to.Conditions {
			m := map[string]any{"type": c.Type, "status": c.Status, "lastTransitionTime": c.LastTransitionTime}
			for name, v := range map[string]string{"reason": c.Reason, "message": c.Message} {
				if v != "" {
					m[name] = v
				} else if rapid.Bool().Draw(r, name) {
					m[name] = nil
				}
			}
			conditions = append(conditions, m)
		}
		d["conditions"] = conditions
	}
	b, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": types.UID("u")}, "status": d})
	if err != nil {
		r.Fatal(err)
	}
	return b
}
