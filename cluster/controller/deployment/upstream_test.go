package deployment

import (
	"context"
	"fmt"
	"maps"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/klog/v2"
	upstream "k8s.io/kubernetes/pkg/controller/deployment/util"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"kviz/raftstore/steady"
)

// The arithmetic and the bookkeeping are Kubernetes' own: for any Deployment
// and any ReplicaSets of it, both give the same.
func TestArithmeticIsUpstreams(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		d := anyDeployment(r)
		var sets []*appsv1.ReplicaSet
		for i := range rapid.IntRange(1, 4).Draw(r, "sets") {
			sets = append(sets, anySet(r, d, i))
		}
		next := sets[0]

		s, u := fenceposts(d)
		if ru := d.Spec.Strategy.RollingUpdate; ru != nil {
			us, uu, err := upstream.ResolveFenceposts(ru.MaxSurge, ru.MaxUnavailable, *d.Spec.Replicas)
			if err != nil || s != us || u != uu {
				r.Fatalf("fenceposts %d, %d; upstream %d, %d, %v", s, u, us, uu, err)
			}
		}
		same(r, "maxSurge", maxSurge(d), upstream.MaxSurge(*d))
		same(r, "maxUnavailable", maxUnavailable(d), upstream.MaxUnavailable(*d))
		size, how := newSize(d, sets, next)
		want, err := upstream.NewRSNewReplicas(d, sets, next)
		if err != nil || size != want {
			r.Fatalf("newSize %d (%s), upstream %d, %v", size, how, want, err)
		}
		add := rapid.Int32Range(-20, 20).Draw(r, "add")
		done := rapid.Int32Range(0, 20).Draw(r, "done")
		if add < 0 {
			done = -done
		}
		for _, rs := range sets {
			same(r, "proportion of "+rs.Name, proportion(rs, d, add, done), upstream.GetReplicaSetProportion(klog.Background(), rs, *d, add, done))
		}
		same(r, "specReplicas", specReplicas(sets), upstream.GetReplicaCountForReplicaSets(sets))
		same(r, "actualReplicas", actualReplicas(sets), upstream.GetActualReplicaCountForReplicaSets(sets))
		same(r, "availableReplicas", availableReplicas(sets), upstream.GetAvailableReplicaCountForReplicaSets(sets))
		same(r, "readyReplicas", readyReplicas(sets), upstream.GetReadyReplicaCountForReplicaSets(sets))
		same(r, "terminatingReplicas", ptr.Deref(terminatingReplicas(sets), -1), ptr.Deref(upstream.GetTerminatingReplicaCountForReplicaSets(sets), -1))

		st := anyStatus(r, "new status")
		same(r, "complete", complete(d, &st), upstream.DeploymentComplete(d, &st))
		same(r, "progressing", progressing(&d.Status, &st), upstream.DeploymentProgressing(d, &st))
	})
}

// A ReplicaSet's annotations (revision, history, what is copied) are
// Kubernetes' own.
func TestAnnotationsAreUpstreams(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		d := anyDeployment(r)
		d.Annotations = map[string]string{}
		for _, k := range append([]string{"kubernetes.io/change-cause", "team"}, ownAnnotations...) {
			if rapid.Bool().Draw(r, k) {
				d.Annotations[k] = rapid.SampledFrom([]string{"1", "2", "x"}).Draw(r, "value")
			}
		}
		mine := anySet(r, d, 0)
		mine.Annotations[revisionAnnotation] = fmt.Sprint(rapid.IntRange(1, 9).Draw(r, "revision was"))
		if rapid.Bool().Draw(r, "has a history") {
			mine.Annotations[revisionHistory] = rapid.SampledFrom([]string{"1", "1,2", "1,3,5"}).Draw(r, "history")
		}
		theirs := mine.DeepCopy()
		revision, exists := fmt.Sprint(rapid.IntRange(1, 9).Draw(r, "revision")), rapid.Bool().Draw(r, "exists")
		changed := annotateNext(d, mine, revision, exists)
		want := upstream.SetNewReplicaSetAnnotations(context.Background(), d, theirs, revision, exists, maxHistoryChars)
		if changed != want || !maps.Equal(mine.Annotations, theirs.Annotations) {
			r.Fatalf("changed %v %v\nupstream %v %v", changed, mine.Annotations, want, theirs.Annotations)
		}
	})
}

func same[T comparable](r *rapid.T, what string, got, want T) {
	if got != want {
		r.Fatalf("%s: %v, upstream %v", what, got, want)
	}
}

func anyDeployment(r *rapid.T) *appsv1.Deployment {
	d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: ptr.To(rapid.Int32Range(0, 12).Draw(r, "replicas"))}, Status: anyStatus(r, "status")}
	d.Generation = rapid.Int64Range(1, 2).Draw(r, "generation")
	d.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType
	if rapid.IntRange(0, 4).Draw(r, "recreate") > 0 {
		d.Spec.Strategy.Type = appsv1.RollingUpdateDeploymentStrategyType
		d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: anyLimit(r, "maxSurge"), MaxUnavailable: anyLimit(r, "maxUnavailable")}
	}
	return d
}

func anyLimit(r *rapid.T, name string) *intstr.IntOrString {
	if rapid.Bool().Draw(r, name+" in percent") {
		return ptr.To(intstr.FromString(fmt.Sprintf("%d%%", rapid.IntRange(0, 100).Draw(r, name))))
	}
	return ptr.To(intstr.FromInt32(rapid.Int32Range(0, 5).Draw(r, name)))
}

func anyStatus(r *rapid.T, name string) appsv1.DeploymentStatus {
	n := func(what string) int32 { return rapid.Int32Range(0, 12).Draw(r, name+" "+what) }
	return appsv1.DeploymentStatus{
		Replicas: n("replicas"), UpdatedReplicas: n("updated"), ReadyReplicas: n("ready"), AvailableReplicas: n("available"),
		ObservedGeneration: rapid.Int64Range(1, 2).Draw(r, name+" observed"),
	}
}

func anySet(r *rapid.T, d *appsv1.Deployment, i int) *appsv1.ReplicaSet {
	name := fmt.Sprintf("rs-%d", i)
	n := func(what string) int32 { return rapid.Int32Range(0, 12).Draw(r, name+" "+what) }
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}},
		Spec:       appsv1.ReplicaSetSpec{Replicas: ptr.To(n("replicas")), Template: corev1.PodTemplateSpec{}},
		Status: appsv1.ReplicaSetStatus{
			Replicas: n("actual"), ReadyReplicas: n("ready"), AvailableReplicas: n("available"),
			ObservedGeneration: rapid.Int64Range(0, 1).Draw(r, name+" observed"),
		},
	}
	if rapid.Bool().Draw(r, name+" says what terminates") {
		rs.Status.TerminatingReplicas = ptr.To(n("terminating"))
	}
	if rapid.Bool().Draw(r, name+" annotated") {
		rs.Annotations[maxReplicas] = fmt.Sprint(rapid.IntRange(0, 15).Draw(r, name+" max"))
		rs.Annotations[desiredReplicas] = fmt.Sprint(*d.Spec.Replicas)
	}
	return rs
}
