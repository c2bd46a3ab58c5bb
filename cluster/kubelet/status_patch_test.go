package kubelet

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"kviz/raftstore/steady"
)

// The patch that is written by hand is, byte by byte, the one that maps and
// encoding/json make; and what is the same is so by upstream's equality.
func TestStatusPatchIsWhatEncodingJSONWrites(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		old := drawPodStatus(r, "old")
		new := drawPodStatus(r, "new")
		if rapid.Bool().Draw(r, "alike") {
			new = *old.DeepCopy()
			change(r, &new)
		}
		got, want := statusPatch("uid-1", &old, &new), mapPatch("uid-1", &old, &new)
		if string(got) != string(want) {
			r.Fatalf("old  %+v\nnew  %+v\ngot  %s\nwant %s", old, new, got, want)
		}
		if same, want := sameStatus(&old, &new), equality.Semantic.DeepEqual(old, new); same != want {
			r.Fatalf("old  %+v\nnew  %+v\nsame %v, want %v", old, new, same, want)
		}
	})
}

// change makes at most one change.
func change(r *rapid.T, s *corev1.PodStatus) {
	later := metav1.NewTime(time.Unix(99, 0))
	yes := true
	if len(s.ContainerStatuses) > 0 {
		c := &s.ContainerStatuses[0]
		switch rapid.IntRange(0, 8).Draw(r, "container") {
		case 0:
			c.RestartCount++
		case 1:
			c.Started = &yes
		case 2:
			c.State.Running = &corev1.ContainerStateRunning{StartedAt: later}
		case 3:
			c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{FinishedAt: later}
		case 4:
			c.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("1000m")}}
		case 5:
			c.AllocatedResources = corev1.ResourceList{"cpu": resource.MustParse("1")}
		}
	}
	switch rapid.IntRange(0, 5).Draw(r, "status") {
	case 0:
		s.StartTime = &later
	case 1:
		s.HostIPs = nil
	case 2:
		s.Resize = corev1.PodResizeStatusDeferred
	case 3:
		s.Conditions = []corev1.PodCondition{}
	}
}

func drawPodStatus(r *rapid.T, label string) corev1.PodStatus {
	word := rapid.SampledFrom([]string{"", "one", "two words", `a "quoted" <one> & more`, "größer"})
	ip := rapid.SampledFrom([]string{"10.0.0.1", "10.0.0.2", "10.0.0.3"})
	at := func() metav1.Time {
		return metav1.NewTime(time.Unix(rapid.Int64Range(1, 9).Draw(r, label), 0))
	}
	s := corev1.PodStatus{
		Phase: corev1.PodPhase(word.Draw(r, label)), Reason: word.Draw(r, label), Message: word.Draw(r, label), PodIP: word.Draw(r, label),
		HostIP: word.Draw(r, label), QOSClass: corev1.PodQOSClass(word.Draw(r, label)), ObservedGeneration: rapid.Int64Range(0, 2).Draw(r, label),
	}
	if rapid.Bool().Draw(r, label) {
		t := at()
		s.StartTime = &t
	}
	for _, a := range rapid.SliceOfNDistinct(ip, 0, 2, rapid.ID[string]).Draw(r, label) {
		s.PodIPs = append(s.PodIPs, corev1.PodIP{IP: a})
		s.HostIPs = append(s.HostIPs, corev1.HostIP{IP: a})
	}
	types := rapid.SampledFrom([]corev1.PodConditionType{corev1.PodReady, corev1.PodScheduled, corev1.ContainersReady, "example.com/gate"})
	for _, c := range rapid.SliceOfNDistinct(types, 0, 3, rapid.ID[corev1.PodConditionType]).Draw(r, label) {
		s.Conditions = append(s.Conditions, corev1.PodCondition{
			Type: c, Status: corev1.ConditionStatus(word.Draw(r, label)), Reason: word.Draw(r, label), Message: word.Draw(r, label), LastTransitionTime: at(),
		})
	}
	for range rapid.IntRange(0, 2).Draw(r, label) {
		c := corev1.ContainerStatus{Name: word.Draw(r, label), Image: word.Draw(r, label), Ready: rapid.Bool().Draw(r, label)}
		switch rapid.IntRange(0, 2).Draw(r, label) {
		case 0:
			c.State.Waiting = &corev1.ContainerStateWaiting{Reason: word.Draw(r, label)}
		case 1:
			c.State.Running = &corev1.ContainerStateRunning{StartedAt: at()}
		case 2:
			c.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: word.Draw(r, label), StartedAt: at()}
		}
		s.ContainerStatuses = append(s.ContainerStatuses, c)
	}
	return s
}

// mapPatch is statusPatch by way of maps.
func mapPatch(uid string, old, new *corev1.PodStatus) []byte {
	d := map[string]any{}
	diff(d, "phase", old.Phase, new.Phase)
	diff(d, "reason", old.Reason, new.Reason)
	diff(d, "message", old.Message, new.Message)
	diff(d, "hostIP", old.HostIP, new.HostIP)
	diff(d, "podIP", old.PodIP, new.PodIP)
	diff(d, "qosClass", old.QOSClass, new.QOSClass)
	diff(d, "observedGeneration", old.ObservedGeneration, new.ObservedGeneration)
	if !equality.Semantic.DeepEqual(old.StartTime, new.StartTime) {
		d["startTime"] = new.StartTime
	}
	if !equality.Semantic.DeepEqual(old.HostIPs, new.HostIPs) {
		d["hostIPs"] = new.HostIPs
	}
	if !equality.Semantic.DeepEqual(old.PodIPs, new.PodIPs) {
		d["podIPs"] = podIPPatch(old.PodIPs, new.PodIPs)
	}
	if !equality.Semantic.DeepEqual(old.ContainerStatuses, new.ContainerStatuses) {
		d["containerStatuses"] = new.ContainerStatuses
	}
	if !equality.Semantic.DeepEqual(old.InitContainerStatuses, new.InitContainerStatuses) {
		d["initContainerStatuses"] = new.InitContainerStatuses
	}
	if c := changedConditions(old.Conditions, new.Conditions); len(c) > 0 {
		d["conditions"] = c
	}
	if len(d) == 0 {
		return nil
	}
	b, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": uid}, "status": d})
	if err != nil {
		panic("kubelet: a pod status does not marshal: " + err.Error())
	}
	return b
}

func diff[T comparable](d map[string]any, field string, old, new T) {
	var zero T
	if old == new {
		return
	}
	if new == zero {
		d[field] = nil
		return
	}
	d[field] = new
}

// podIPPatch merges by ip: what is no longer there has to be deleted by name.
func podIPPatch(old, new []corev1.PodIP) []any {
	out := []any{}
	for _, ip := range new {
		out = append(out, ip)
	}
	for _, o := range old {
		kept := false
		for _, n := range new {
			kept = kept || n.IP == o.IP
		}
		if !kept {
			out = append(out, map[string]string{"ip": o.IP, "$patch": "delete"})
		}
	}
	return out
}

// changedConditions are the kubelet's conditions that differ, cleared fields
// written out as null.
func changedConditions(old, new []corev1.PodCondition) []any {
	var out []any
	for i := range new {
		n := &new[i]
		if !isOwned(n.Type) {
			continue
		}
		var o *corev1.PodCondition
		for j := range old {
			if old[j].Type == n.Type {
				o = &old[j]
			}
		}
		if o != nil && n.Type == corev1.PodScheduled && o.Status == n.Status {
			continue // the scheduler's
		}
		if o != nil && o.Status == n.Status && o.Reason == n.Reason && o.Message == n.Message && o.ObservedGeneration == n.ObservedGeneration {
			continue
		}
		c := map[string]any{"type": n.Type, "status": n.Status, "lastTransitionTime": n.LastTransitionTime, "observedGeneration": n.ObservedGeneration}
		setOrClear(c, "reason", n.Reason, o != nil && o.Reason != "")
		setOrClear(c, "message", n.Message, o != nil && o.Message != "")
		out = append(out, c)
	}
	return out
}

func setOrClear(c map[string]any, field, value string, was bool) {
	switch {
	case value != "":
		c[field] = value
	case was:
		c[field] = nil
	}
}
