package tuitest

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/trace"
)

// Deletion is the story once more, up to a foreground deletion: the Deployment has
// its mark and waits for its ReplicaSet, which waits for its pods; one of them has
// also an owner that is not there, and a finalizer of somebody's own.
func Deletion() *Tape {
	t := Story()
	t.After(time.Second)
	mark := metav1.NewTime(Epoch.Add(t.at))
	web := Deployment(3, 2)
	web.DeletionTimestamp, web.DeletionGracePeriodSeconds, web.Generation = &mark, ptr(int64(0)), 2
	web.Finalizers = []string{metav1.FinalizerDeleteDependents}
	t.Commit(Ref("Deployment", "demo", "web"), "deployments", web)

	rs := ReplicaSet(3, 3, 2)
	rs.OwnerReferences[0].BlockOwnerDeletion = ptr(true)
	rs.DeletionTimestamp, rs.DeletionGracePeriodSeconds = &mark, ptr(int64(0))
	rs.Finalizers = []string{metav1.FinalizerDeleteDependents}
	t.Commit(Ref("ReplicaSet", "demo", "web-7f9c"), "replicasets", rs)

	pod := Pod("demo", "web-7f9c-k2x9p", "web-7f9c", "node-1", "Ready", "10.244.1.7")
	pod.OwnerReferences[0].BlockOwnerDeletion = ptr(true)
	pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Database", Name: "orders", UID: "gone"})
	end := metav1.NewTime(mark.Add(30 * time.Second))
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &end, ptr(int64(30))
	pod.Finalizers = []string{"example.com/backup"}
	t.Commit(Ref("Pod", "demo", "web-7f9c-k2x9p"), "pods", pod)
	t.After(4 * time.Second)
	t.Emit(trace.CompSimulation, "", trace.Ready, trace.Ref{}, nil)
	return t
}
