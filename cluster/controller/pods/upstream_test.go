package pods_test

import (
	"fmt"
	"slices"
	"sort"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	upstream "k8s.io/kubernetes/pkg/controller"
	"pgregory.net/rapid"

	"kviz/cluster/controller/pods"
	"kviz/raftstore/steady"
)

var now = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

// Which pods go first when a ReplicaSet shrinks is Kubernetes' own ranking: for
// any pods, both delete the same ones.
func TestDeletionRankingIsUpstreams(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		var list, related []*corev1.Pod
		for i := range rapid.IntRange(2, 8).Draw(r, "pods") {
			list = append(list, anyPod(r, i))
		}
		related = append(related, list...)
		for i := range rapid.IntRange(0, 6).Draw(r, "pods of the old ReplicaSet") {
			related = append(related, anyPod(r, 100+i))
		}
		onNode := map[string]int{}
		for _, pod := range related {
			if pods.Active(pod) {
				onNode[pod.Spec.NodeName]++
			}
		}
		ranked := upstream.ActivePodsWithRanks{Pods: slices.Clone(list), Now: metav1.NewTime(now)}
		for _, pod := range list {
			ranked.Rank = append(ranked.Rank, onNode[pod.Spec.NodeName])
		}
		sort.Stable(ranked)
		n := rapid.IntRange(1, len(list)-1).Draw(r, "delete")
		got, want := names(pods.ToDelete(list, related, n, now)), names(ranked.Pods[:n])
		if !slices.Equal(got, want) {
			r.Fatalf("deletes %v, upstream %v", got, want)
		}
	})
}

func names(list []*corev1.Pod) (out []string) {
	for _, p := range list {
		out = append(out, p.Name)
	}
	return out
}

func anyPod(r *rapid.T, i int) *corev1.Pod {
	p := &corev1.Pod{}
	p.Name, p.UID = fmt.Sprintf("pod-%d", i), types.UID(fmt.Sprintf("%03d", 999-i))
	draw := func(what string, most int) int { return rapid.IntRange(0, most).Draw(r, p.Name+" "+what) }
	ago := func(what string) metav1.Time {
		return metav1.NewTime(now.Add(-time.Duration(draw(what, 5000)) * time.Second))
	}
	p.CreationTimestamp = ago("created s ago")
	if n := draw("node", 3); n > 0 {
		p.Spec.NodeName = fmt.Sprint("node-", n)
	}
	p.Status.Phase = []corev1.PodPhase{corev1.PodPending, corev1.PodUnknown, corev1.PodRunning, corev1.PodRunning}[draw("phase", 3)]
	if draw("ready", 2) > 0 {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: ago("ready for s")}}
	}
	if draw("has a cost", 3) == 0 {
		cost := rapid.SampledFrom([]string{"-5", "0", "7", "07", "+7", "much"}).Draw(r, "cost")
		p.Annotations = map[string]string{corev1.PodDeletionCost: cost}
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: int32(draw("restarts", 2))}, {RestartCount: int32(draw("restarts of the other", 2))}}
	if draw("has a sidecar", 2) == 0 {
		always := corev1.ContainerRestartPolicyAlways
		p.Spec.InitContainers = []corev1.Container{{Name: "mesh", RestartPolicy: &always}}
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "mesh", RestartCount: int32(draw("restarts of the sidecar", 2))}}
	}
	return p
}

// The pod-template-hash has the very letters that Kubernetes gives.
func TestTemplateHashIsUpstreams(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		tpl := &corev1.PodTemplateSpec{}
		tpl.Labels = rapid.MapOf(rapid.StringN(1, 5, -1), rapid.String()).Draw(r, "labels")
		tpl.Spec.Containers = []corev1.Container{{Image: rapid.String().Draw(r, "image"), Args: rapid.SliceOf(rapid.String()).Draw(r, "args")}}
		tpl.Spec.NodeSelector = map[string]string{"disk": rapid.String().Draw(r, "disk")}
		var collisions *int32
		if rapid.Bool().Draw(r, "collided") {
			n := rapid.Int32Range(0, 300).Draw(r, "collisions")
			collisions = &n
		}
		if got, want := pods.Hash(tpl, collisions), upstream.ComputeHash(tpl, collisions); got != want {
			r.Fatalf("hash %s, upstream %s", got, want)
		}
	})
}
