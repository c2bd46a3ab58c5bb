package patch

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"pgregory.net/rapid"

	"kviz/raftstore/steady"
)

// What a component's patch of a pod's status makes is what strategic merge makes
// of it, in the order it makes.
func TestPodStatusPatchIsStrategicMerge(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
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

// What is read in one pass is what encoding/json reads; what encoding/json does
// not take, the one pass does not take either.
func TestScannedPatchIsWhatEncodingJSONReads(t *testing.T) {
	scanned := 0
	steady.Check(t, func(r *rapid.T) {
		patch := drawPatch(r)
		if rapid.Bool().Draw(r, "damaged") {
			i := rapid.IntRange(0, len(patch)-1).Draw(r, "at")
			patch[i] = rapid.SampledFrom([]byte(`{}[]",:0x\ `)).Draw(r, "with")
		}
		got := &podStatusPatch{}
		if !scanPodStatusPatch(patch, got) {
			return
		}
		scanned++
		want := decodePodStatusPatch(patch)
		if want == nil || !reflect.DeepEqual(got, want) {
			r.Fatalf("%s\ngot  %+v\nwant %+v", patch, got, want)
		}
	})
	if scanned < 20 {
		t.Errorf("%d patches were read in one pass", scanned)
	}
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
		s.ContainerStatuses = append(s.ContainerStatuses, drawContainerStatus(r, label, word))
	}
	return s
}

func drawContainerStatus(r *rapid.T, label string, word *rapid.Generator[string]) corev1.ContainerStatus {
	started := rapid.Bool().Draw(r, label)
	c := corev1.ContainerStatus{Name: word.Draw(r, label), Image: word.Draw(r, label), ImageID: word.Draw(r, label), ContainerID: word.Draw(r, label), Started: &started, RestartCount: rapid.Int32Range(0, 12).Draw(r, label)}
	at := metav1.NewTime(time.Unix(rapid.Int64Range(0, 9).Draw(r, label), 0).UTC())
	switch rapid.IntRange(0, 3).Draw(r, label) {
	case 0:
		c.State.Waiting = &corev1.ContainerStateWaiting{Reason: word.Draw(r, label), Message: word.Draw(r, label)}
	case 1:
		c.State.Running = &corev1.ContainerStateRunning{StartedAt: at}
		c.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("1")}}
		c.AllocatedResources = corev1.ResourceList{"memory": resource.MustParse("1Gi")}
	case 2:
		c.State.Running = &corev1.ContainerStateRunning{}
	case 3:
		c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: at}
	}
	return c
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
