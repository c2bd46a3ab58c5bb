package tuitest

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Workloads is a cluster in which one workload of each kind is on its way: a Deployment's rollout
// halfway, a StatefulSet whose update stands at an ordinal, a DaemonSet, a Job with an index that
// failed, and a CronJob.
func Workloads() *Tape {
	t := Calm(3, 3)
	t.deployment()
	t.statefulSet()
	t.daemonSet(3)
	t.job()
	t.cronJob()
	return t
}

// madeOf writes an object of a workload.
func (t *Tape) madeOf(kind, resource, name string, o runtime.Object) {
	t.After(10 * time.Millisecond)
	t.Commit(Ref(kind, "demo", name), resource, o)
}

// podOf is a pod of an owner in a phase, as [Pod] has it, or "Failed", "Succeeded" or "Terminating".
func (t *Tape) podOf(kind, owner, name, node, phase string, labels, notes map[string]string) {
	as := phase
	if phase == "Terminating" {
		as = "Ready"
	}
	p := Pod("demo", name, "", node, as, "")
	p.OwnerReferences = []metav1.OwnerReference{*ownerOf(kind, owner)}
	p.Labels, p.Annotations = labels, notes
	switch phase {
	case "Failed":
		p.Status.Phase = corev1.PodFailed
	case "Succeeded":
		p.Status.Phase = corev1.PodSucceeded
	case "Terminating":
		p.DeletionTimestamp = ptr(metav1.NewTime(Epoch))
	}
	t.madeOf("Pod", "pods", name, p)
}

func ownerOf(kind, name string) *metav1.OwnerReference {
	if kind == "Job" || kind == "CronJob" {
		return owner("batch/v1", kind, name)
	}
	return owner("apps/v1", kind, name)
}

// deployment is a rollout from one template to the next, halfway.
func (t *Tape) deployment() {
	d := Deployment(4, 4)
	d.ObjectMeta = meta("Deployment", "demo", "shop", nil)
	d.Annotations = map[string]string{revision: "3"}
	d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{
		MaxSurge: ptr(intstr.FromString("25%")), MaxUnavailable: ptr(intstr.FromInt32(0)),
	}}
	t.madeOf("Deployment", "deployments", "shop", d)
	set := func(name string, number int, replicas, ready int32) {
		rs := ReplicaSet(replicas, replicas, ready)
		rs.ObjectMeta = meta("ReplicaSet", "demo", name, owner("apps/v1", "Deployment", "shop"))
		rs.Annotations = map[string]string{revision: fmt.Sprint(number)}
		t.madeOf("ReplicaSet", "replicasets", name, rs)
	}
	set("shop-1a", 1, 0, 0)
	set("shop-2b", 2, 4, 4)
	for i := range 4 {
		t.podOf("ReplicaSet", "shop-2b", fmt.Sprintf("shop-2b-%d", i), fmt.Sprintf("node-%d", i%3+1), "Ready", nil, nil)
	}
	t.After(2 * time.Second)
	set("shop-3c", 3, 1, 0)
	t.podOf("ReplicaSet", "shop-3c", "shop-3c-0", "node-3", "Ready", nil, nil)
	set("shop-3c", 3, 1, 1)
	set("shop-2b", 2, 3, 4)
	t.podOf("ReplicaSet", "shop-2b", "shop-2b-0", "node-1", "Terminating", nil, nil)
	set("shop-2b", 2, 3, 3)
	set("shop-3c", 3, 2, 1)
	t.podOf("ReplicaSet", "shop-3c", "shop-3c-1", "node-1", "Creating", nil, nil)
}

const revision = "deployment.kubernetes.io/revision"

// statefulSet is an update that has come to ordinal 2, held by a partition at 1.
func (t *Tape) statefulSet() {
	v := &appsv1.StatefulSet{ObjectMeta: meta("StatefulSet", "demo", "db", nil), Spec: appsv1.StatefulSetSpec{
		Replicas: ptr(int32(5)), ServiceName: "db",
		UpdateStrategy:       appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: ptr(int32(1))}},
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}},
	}, Status: appsv1.StatefulSetStatus{ObservedGeneration: 1, Replicas: 4, ReadyReplicas: 4, AvailableReplicas: 4, UpdatedReplicas: 2, CurrentRevision: "db-7c", UpdateRevision: "db-9f"}}
	t.madeOf("StatefulSet", "statefulsets", "db", v)
	for i, name := range []string{"db-7c", "db-9f"} {
		t.template("StatefulSet", "db", name, int64(i+1))
	}
	for i, phase := range []string{"Ready", "Ready", "Terminating", "Ready", "Ready"} {
		hash := "db-7c"
		if i > 2 {
			hash = "db-9f"
		}
		t.podOf("StatefulSet", "db", fmt.Sprintf("db-%d", i), fmt.Sprintf("node-%d", i%3+1), phase, map[string]string{appsv1.ControllerRevisionHashLabelKey: hash}, nil)
		c := &corev1.PersistentVolumeClaim{ObjectMeta: meta("PersistentVolumeClaim", "demo", fmt.Sprintf("data-db-%d", i), nil)}
		c.Status.Phase = corev1.ClaimBound
		if i == 4 {
			c.Status.Phase = corev1.ClaimPending
		}
		t.madeOf("PersistentVolumeClaim", "persistentvolumeclaims", c.Name, c)
	}
}

func (t *Tape) template(kind, owner, name string, number int64) {
	t.madeOf("ControllerRevision", "controllerrevisions", name, &appsv1.ControllerRevision{ObjectMeta: meta("ControllerRevision", "demo", name, ownerOf(kind, owner)), Revision: number})
}

// daemonSet has a pod on each of so many nodes, the first of the newest template.
func (t *Tape) daemonSet(nodes int32) {
	v := &appsv1.DaemonSet{ObjectMeta: meta("DaemonSet", "demo", "log", nil), Spec: appsv1.DaemonSetSpec{
		UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType, RollingUpdate: &appsv1.RollingUpdateDaemonSet{
			MaxSurge: ptr(intstr.FromInt32(0)), MaxUnavailable: ptr(intstr.FromInt32(1)),
		}},
	}, Status: appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: nodes, CurrentNumberScheduled: nodes, NumberReady: nodes - 1, NumberAvailable: nodes - 1, UpdatedNumberScheduled: 1}}
	t.madeOf("DaemonSet", "daemonsets", "log", v)
	for i, hash := range []string{"5d", "6e"} {
		t.template("DaemonSet", "log", "log-"+hash, int64(i+1))
	}
	for i := range int(nodes) {
		phase, hash := "Ready", "5d"
		if i == 0 {
			phase, hash = "Creating", "6e"
		}
		t.podOf("DaemonSet", "log", fmt.Sprintf("log-%04d", i), fmt.Sprintf("node-%d", i+1), phase, map[string]string{appsv1.ControllerRevisionHashLabelKey: hash}, nil)
	}
}

// job is an indexed Job: most is done, one index failed for good, one is tried again.
func (t *Tape) job() {
	v := &batchv1.Job{ObjectMeta: meta("Job", "demo", "pi", nil), Spec: batchv1.JobSpec{
		Completions: ptr(int32(12)), Parallelism: ptr(int32(3)), CompletionMode: ptr(batchv1.IndexedCompletion), BackoffLimitPerIndex: ptr(int32(1)), MaxFailedIndexes: ptr(int32(2)),
	}, Status: batchv1.JobStatus{Succeeded: 6, Failed: 3, Active: 2, CompletedIndexes: "0-2,4-6", FailedIndexes: ptr("3")}}
	t.madeOf("Job", "jobs", "pi", v)
	for _, p := range []struct {
		index, failed int
		phase         string
	}{{0, 0, "Succeeded"}, {1, 0, "Succeeded"}, {2, 0, "Succeeded"}, {3, 0, "Failed"}, {3, 1, "Failed"}, {4, 0, "Succeeded"}, {5, 0, "Succeeded"}, {6, 0, "Succeeded"}, {7, 0, "Failed"}, {8, 1, "Ready"}, {9, 0, "Creating"}} {
		notes := map[string]string{batchv1.JobCompletionIndexAnnotation: fmt.Sprint(p.index), "batch.kubernetes.io/job-index-failure-count": fmt.Sprint(p.failed)}
		t.podOf("Job", "pi", fmt.Sprintf("pi-%d-%c", p.index, 'a'+p.failed), "node-2", p.phase, nil, notes)
	}
}

// cronJob runs every quarter of an hour in another time zone; one run is over, one was missed.
func (t *Tape) cronJob() {
	v := &batchv1.CronJob{ObjectMeta: meta("CronJob", "demo", "report", nil), Spec: batchv1.CronJobSpec{
		Schedule: "*/15 * * * *", TimeZone: ptr("Asia/Tokyo"), ConcurrencyPolicy: batchv1.ForbidConcurrent, StartingDeadlineSeconds: ptr(int64(3600)),
	}, Status: batchv1.CronJobStatus{LastScheduleTime: ptr(metav1.NewTime(Epoch.Add(-15 * time.Minute)))}}
	t.madeOf("CronJob", "cronjobs", "report", v)
	for i, over := range []batchv1.JobConditionType{batchv1.JobComplete, ""} {
		name := fmt.Sprintf("report-2945520%d", i)
		j := &batchv1.Job{ObjectMeta: meta("Job", "demo", name, owner("batch/v1", "CronJob", "report")), Spec: batchv1.JobSpec{Completions: ptr(int32(1)), Parallelism: ptr(int32(1))}}
		if over != "" {
			j.Status.Succeeded, j.Status.Conditions = 1, []batchv1.JobCondition{{Type: over, Status: corev1.ConditionTrue}}
		}
		t.madeOf("Job", "jobs", name, j)
		phase := "Ready"
		if over != "" {
			phase = "Succeeded"
		}
		t.podOf("Job", name, name+"-x", "node-3", phase, nil, nil)
	}
}

// Large is a Deployment, a StatefulSet, a DaemonSet and a Job of n pods each.
func Large(n int) *Tape {
	t := Calm(3, 3)
	d := Deployment(int32(n), int32(n))
	d.ObjectMeta = meta("Deployment", "demo", "shop", nil)
	t.madeOf("Deployment", "deployments", "shop", d)
	rs := ReplicaSet(int32(n), int32(n), int32(n))
	rs.ObjectMeta = meta("ReplicaSet", "demo", "shop-1a", owner("apps/v1", "Deployment", "shop"))
	t.madeOf("ReplicaSet", "replicasets", "shop-1a", rs)
	t.madeOf("StatefulSet", "statefulsets", "db", &appsv1.StatefulSet{ObjectMeta: meta("StatefulSet", "demo", "db", nil), Spec: appsv1.StatefulSetSpec{Replicas: ptr(int32(n))}, Status: appsv1.StatefulSetStatus{
		ObservedGeneration: 1, Replicas: int32(n), ReadyReplicas: int32(n - 2), UpdatedReplicas: int32(n), CurrentRevision: "db-7c", UpdateRevision: "db-7c",
	}})
	t.madeOf("Job", "jobs", "pi", &batchv1.Job{ObjectMeta: meta("Job", "demo", "pi", nil), Spec: batchv1.JobSpec{
		Completions: ptr(int32(100 * n)), Parallelism: ptr(int32(n)), CompletionMode: ptr(batchv1.IndexedCompletion),
	}, Status: batchv1.JobStatus{Succeeded: int32(n - 2), Active: 2, CompletedIndexes: fmt.Sprintf("2-%d", n-1)}})
	for i := range n {
		phase, done := "Ready", "Succeeded"
		if i < 2 {
			phase, done = "Creating", "Ready"
		}
		t.podOf("ReplicaSet", "shop-1a", fmt.Sprintf("shop-1a-%05d", i), "node-1", phase, nil, nil)
		t.podOf("StatefulSet", "db", fmt.Sprintf("db-%d", i), "node-1", phase, map[string]string{appsv1.ControllerRevisionHashLabelKey: "db-7c"}, nil)
		t.podOf("Job", "pi", fmt.Sprintf("pi-%d-x", i), "node-1", done, nil, map[string]string{batchv1.JobCompletionIndexAnnotation: fmt.Sprint(i)})
	}
	t.daemonSet(int32(n))
	return t
}
