package view_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/utils/ptr"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// noon is when the clusters of these tests start; what is asked is asked ten minutes later.
var (
	noon  = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	asked = noon.Add(10 * time.Minute)
)

// standing is a cluster with these objects, at the time when it is asked.
func standing(t *testing.T, objects ...runtime.Object) *view.State {
	t.Helper()
	return standingWith(t, nil, objects...)
}

// standingWith is one in which something more has happened since.
func standingWith(t *testing.T, since []*trace.Event, objects ...runtime.Object) *view.State {
	t.Helper()
	events := []*trace.Event{because(trace.RunStart, &trace.Run{Epoch: noon})}
	for i, o := range objects {
		kinds, _, err := scheme.Scheme.ObjectKinds(o)
		if err != nil {
			t.Fatal(err)
		}
		m := o.(metav1.Object)
		if cluster := []string{"Node", "PersistentVolume", "VolumeAttachment", "StorageClass", "ClusterTrustBundle", "DeviceTaintRule", "ResourceSlice"}; m.GetNamespace() == "" && !slices.Contains(cluster, kinds[0].Kind) {
			m.SetNamespace("demo")
		}
		if m.GetUID() == "" {
			m.SetUID(types.UID(m.GetName()))
		}
		ref := trace.Ref{APIVersion: kinds[0].GroupVersion().String(), Kind: kinds[0].Kind, Namespace: m.GetNamespace(), Name: m.GetName(), UID: string(m.GetUID())}
		e := because(trace.StoreCommit, &trace.Commit{Revision: int64(i + 1), Changes: []trace.KeyChange{{Object: ref, Version: 1, Value: &trace.Object{Value: o}}}})
		e.At = asked.Sub(noon)
		events = append(events, e)
	}
	for _, e := range since { // anew for each state, which numbers them
		again := *e
		events = append(events, &again)
	}
	now := because(trace.Ready, nil)
	now.At = asked.Sub(noon)
	events = append(events, now)
	return tell(events...).h.Latest()
}

func ownedBy(kind, name string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{Kind: kind, Name: name, UID: types.UID(name), Controller: ptr.To(true)}}
}

type podEdit func(*corev1.Pod)

func podOf(kind, owner, name string, edits ...podEdit) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}, Annotations: map[string]string{}, OwnerReferences: ownedBy(kind, owner)}}
	p.Status.Phase = corev1.PodRunning
	p.Spec.NodeName = "node-1"
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon)}}
	for _, e := range edits {
		e(p)
	}
	return p
}

func unready(p *corev1.Pod) {
	p.Status.Phase = corev1.PodPending
	p.Status.Conditions = nil
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "web", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}
}

func going(p *corev1.Pod) {
	p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: asked}, ptr.To(int64(30))
}

func revision(name string) podEdit {
	return func(p *corev1.Pod) { p.Labels[appsv1.StatefulSetRevisionLabel] = name }
}

func failedAt(at time.Time) podEdit {
	return func(p *corev1.Pod) {
		p.Status.Phase, p.Status.Conditions = corev1.PodFailed, nil
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "pi", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", FinishedAt: metav1.NewTime(at)}}}}
	}
}

func succeeded(p *corev1.Pod) { p.Status.Phase, p.Status.Conditions = corev1.PodSucceeded, nil }

func tracked(p *corev1.Pod) { p.Finalizers = []string{batchv1.JobTrackingFinalizer} }

func indexOf(index, failures string) podEdit {
	return func(p *corev1.Pod) {
		p.Annotations[batchv1.JobCompletionIndexAnnotation], p.Annotations[batchv1.JobIndexFailureCountAnnotation] = index, failures
	}
}

func setOf(replicas int32, edit func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web", Generation: 2}}
	set.Spec.Replicas, set.Spec.RevisionHistoryLimit = &replicas, ptr.To(int32(10))
	set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: ptr.To(int32(0))}}
	set.Status = appsv1.StatefulSetStatus{ObservedGeneration: 2, UpdateRevision: "web-new", CurrentRevision: "web-new"}
	if edit != nil {
		edit(set)
	}
	return set
}

func withClaims(set *appsv1.StatefulSet) {
	set.Spec.ServiceName = "web"
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
}

func claim(name string, owners ...metav1.OwnerReference) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners}, Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound}}
}

func nodeWith(name string, labels map[string]string, taints ...corev1.Taint) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: corev1.NodeSpec{Taints: taints}}
}

func daemonOn(node, name string, edits ...podEdit) *corev1.Pod {
	p := podOf("DaemonSet", "log", name, edits...)
	p.Spec.NodeName = node
	p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
	}}}}}
	return p
}

func daemons(edit func(*appsv1.DaemonSet)) *appsv1.DaemonSet {
	ds := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "log"}}
	ds.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType}
	if edit != nil {
		edit(ds)
	}
	return ds
}

func jobWith(completions, parallelism int32, edit func(*batchv1.Job)) *batchv1.Job {
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "pi"}}
	j.Spec.Completions, j.Spec.Parallelism, j.Spec.BackoffLimit = &completions, &parallelism, ptr.To(int32(6))
	j.Status.StartTime = &metav1.Time{Time: noon}
	if edit != nil {
		edit(j)
	}
	return j
}

func jobIs(t batchv1.JobConditionType, reason string) batchv1.JobCondition {
	return batchv1.JobCondition{Type: t, Status: corev1.ConditionTrue, Reason: reason, LastTransitionTime: metav1.NewTime(noon.Add(9 * time.Minute))}
}

func ticking(schedule string, edit func(*batchv1.CronJob)) *batchv1.CronJob {
	cj := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "tick", CreationTimestamp: metav1.NewTime(noon)}, Spec: batchv1.CronJobSpec{
		Schedule: schedule, SuccessfulJobsHistoryLimit: ptr.To(int32(3)), FailedJobsHistoryLimit: ptr.To(int32(1)),
	}}
	if edit != nil {
		edit(cj)
	}
	return cj
}

func lastRun(at time.Duration) func(*batchv1.CronJob) {
	return func(cj *batchv1.CronJob) { cj.Status.LastScheduleTime = &metav1.Time{Time: noon.Add(at)} }
}

func replicaSetOf(owner, name, revision string, n int32) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"deployment.kubernetes.io/revision": revision}, OwnerReferences: ownedBy("Deployment", owner)}}
	rs.Spec.Replicas, rs.Status.Replicas = &n, n
	return rs
}

func deploymentOf(n int32, edit func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{"deployment.kubernetes.io/revision": "1"}}}
	d.Spec.Replicas = &n
	edit(d)
	return d
}

// What kviz why says first of an object of a workload, and what it comes from.
func TestWorkloadsSayHowTheyAre(t *testing.T) {
	old, latest := revision("web-old"), revision("web-new")
	onDelete := func(s *appsv1.StatefulSet) { s.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType }
	gpu := corev1.Taint{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule}
	web := func(n string, edits ...podEdit) *corev1.Pod {
		return podOf("StatefulSet", "web", "web-"+n, append([]podEdit{latest}, edits...)...)
	}
	for _, c := range []struct {
		name    string
		of      string // KIND/NAME; the kind of the first object where it is ""
		objects []runtime.Object
		want    string
		from    []string // What: Why of what it comes from, where the test is about that
	}{
		{
			name: "complete", objects: []runtime.Object{setOf(2, nil), web("0"), web("1")},
			want: "StatefulSet demo/web has its 2 pods, web-0 to web-1, all available and of revision web-new",
		},
		{
			name: "none", objects: []runtime.Object{setOf(0, nil)},
			want: "StatefulSet demo/web has no pods: spec.replicas is 0",
		},
		{
			name: "not seen", objects: []runtime.Object{setOf(1, func(s *appsv1.StatefulSet) { s.Generation = 3 }), web("0")},
			want: "StatefulSet demo/web has 1 of 1 pod: its controller has not looked yet at what was written last (generation 3, the status is of 2)",
		},
		{
			name: "the first is broken", objects: []runtime.Object{setOf(3, nil), web("0", unready)},
			want: "StatefulSet demo/web has 1 of 3 pods: OrderedReady makes web-1 only when web-0 is Running and Ready, and web-0 is not: container web waits: ImagePullBackOff",
			from: []string{"pod web-0: container web waits: ImagePullBackOff, revision web-new", "pod web-1: does not exist", "pod web-2: does not exist"},
		},
		{
			name: "broken, and the template mended", objects: []runtime.Object{setOf(2, nil), web("0", unready, old)},
			want: "StatefulSet demo/web has 1 of 2 pods: OrderedReady makes web-1 only when web-0 is Running and Ready, and web-0 is not: container web waits: ImagePullBackOff; " +
				"the template has changed since, but OrderedReady waits for the old web-0 before it updates anything: kubectl delete pod web-0 -n demo lets it be made of the new one",
		},
		{
			name: "Parallel", objects: []runtime.Object{setOf(3, func(s *appsv1.StatefulSet) { s.Spec.PodManagementPolicy = appsv1.ParallelPodManagement }), web("0", unready)},
			want: "StatefulSet demo/web has 1 of 3 pods: web-1 is still to be made (podManagementPolicy Parallel waits for no other pod)",
		},
		{
			name: "ordinals start at 5", objects: []runtime.Object{setOf(2, func(s *appsv1.StatefulSet) { s.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 5} }), web("5")},
			want: "StatefulSet demo/web has 1 of 2 pods: web-6 is the next to be made, now that web-5 is Running and Ready",
		},
		{
			name: "minReadySeconds", objects: []runtime.Object{setOf(2, func(s *appsv1.StatefulSet) { s.Spec.MinReadySeconds = 615 }), web("0")},
			want: "StatefulSet demo/web has 1 of 2 pods: OrderedReady makes web-1 only when web-0 is Running and Ready, and web-0 is not: it is Ready, and available only once it has been for minReadySeconds 615, in 15 s",
		},
		{
			name: "scaled down", objects: []runtime.Object{setOf(1, nil), web("0"), web("1"), web("2", going)},
			want: "StatefulSet demo/web has 3 pods and wants 1 (spec.replicas): the highest ordinal goes first, and web-2 is being deleted, and then web-1",
		},
		{
			name: "scaled down, one is broken", objects: []runtime.Object{setOf(1, nil), web("0", unready), web("1")},
			want: "StatefulSet demo/web has 2 pods and wants 1 (spec.replicas): the highest ordinal goes first, and web-1 waits, because web-0 is not Running and Ready: container web waits: ImagePullBackOff",
		},
		{
			name: "going", objects: []runtime.Object{setOf(2, nil), web("0"), web("1", going)},
			want: "StatefulSet demo/web has 2 of 2 pods: web-1 is not available: it is being deleted: the kubelet of node-1 gives its containers up to 30 s to end, then kills them and confirms the deletion, and there is never a second web-1 before the first is gone",
		},
		{
			name: "rolling", objects: []runtime.Object{setOf(3, nil), web("0", old), web("1", old), web("2", unready)},
			want: "StatefulSet demo/web has 3 of 3 pods: an update replaces them from the highest ordinal down, and web-0 and web-1 are still of the old revision: web-1 waits, because web-2 is not available: container web waits: ImagePullBackOff (1 of 3 unavailable, maxUnavailable is 1)",
		},
		{
			name: "partition", objects: []runtime.Object{setOf(3, func(s *appsv1.StatefulSet) { s.Spec.UpdateStrategy.RollingUpdate.Partition = ptr.To(int32(2)) }), web("0", old), web("1", old), web("2")},
			want: "StatefulSet demo/web has 3 of 3 pods: web-0 and web-1 keep the old revision because spec.updateStrategy.rollingUpdate.partition is 2: only pods from web-2 on get the new one",
			from: []string{"pod web-0: is ready on node-1, revision web-old (an old one)", "pod web-1: is ready on node-1, revision web-old (an old one)", "pod web-2: is ready on node-1, revision web-new"},
		},
		{
			name: "OnDelete", objects: []runtime.Object{setOf(2, onDelete), web("0", old), web("1", unready)},
			want: "StatefulSet demo/web has 2 of 2 pods: web-1 is not available: container web waits: ImagePullBackOff; web-0 keeps the old revision because spec.updateStrategy.type is OnDelete: a pod gets the new one when somebody deletes it",
		},
		{
			name: "identity", of: "Pod/web-1",
			objects: []runtime.Object{
				setOf(2, withClaims), web("1", func(p *corev1.Pod) { p.Spec.Hostname, p.Spec.Subdomain = "web-1", "web" }), claim("data-web-1"),
				&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "service"}, Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone}},
			},
			want: "Pod demo/web-1 is number 1 of StatefulSet demo/web: when it is deleted and made again, it keeps the name web-1, its claim data-web-1, its DNS name web-1.web.demo.svc.cluster.local; its UID and IP are new, and its node may be another",
			from: []string{"spec.hostname: web-1, which its controller set to its name", "Service web: answers for the names of its pods", "claim data-web-1: Bound, has no owner, so it is kept whatever is deleted"},
		},
		{
			name: "identity without a Service", of: "Pod/web-1", objects: []runtime.Object{setOf(2, nil), web("1", func(p *corev1.Pod) { p.Spec.Hostname, p.Spec.Subdomain = "web-1", "web" })},
			want: "Pod demo/web-1 is number 1 of StatefulSet demo/web: when it is deleted and made again, it keeps the name web-1; its UID and IP are new, and its node may be another",
			from: []string{"spec.hostname: web-1, which its controller set to its name", "Service web: does not exist, so the pod has no DNS name of its own"},
		},
		{
			name: "claim kept", of: "PersistentVolumeClaim/data-web-2", objects: []runtime.Object{setOf(2, withClaims), claim("data-web-2")},
			want: `PersistentVolumeClaim demo/data-web-2 is the claim "data" of pod web-2 of StatefulSet demo/web, which is beyond spec.replicas 2: persistentVolumeClaimRetentionPolicy.whenScaled is Retain, so the claim stays, and web-2 gets it again when the set is scaled up`,
			from: []string{"persistentVolumeClaimRetentionPolicy.whenDeleted: is Retain: the claim stays when the StatefulSet is deleted"},
		},
		{
			name: "claim goes", of: "PersistentVolumeClaim/data-web-2",
			objects: []runtime.Object{setOf(2, func(s *appsv1.StatefulSet) {
				withClaims(s)
				s.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenScaled: "Delete", WhenDeleted: "Delete"}
			}), claim("data-web-2", ownedBy("Pod", "web-2")...)},
			want: `PersistentVolumeClaim demo/data-web-2 is the claim "data" of pod web-2 of StatefulSet demo/web, which is beyond spec.replicas 2: persistentVolumeClaimRetentionPolicy.whenScaled is Delete, so the claim belongs to that pod and is deleted with it`,
		},
		{
			name: "claim in use", of: "PersistentVolumeClaim/data-web-1", objects: []runtime.Object{setOf(2, withClaims), claim("data-web-1"), web("1")},
			want: `PersistentVolumeClaim demo/data-web-1 is the claim "data" of pod web-1 of StatefulSet demo/web: it was made before the pod, and stays when the pod is deleted, so that the next web-1 finds its data again`,
		},
		{
			name: "revision", of: "ControllerRevision/web-old",
			objects: []runtime.Object{setOf(1, nil), web("0"), &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "web-old", OwnerReferences: ownedBy("StatefulSet", "web")}, Revision: 2}},
			want:    "ControllerRevision demo/web-old is the pod template of revision 2 of StatefulSet demo/web, kept for undo: no pod has it, and kubectl rollout undo sts/web --to-revision=2 puts it back; revisionHistoryLimit is 10, so at most so many such are kept",
		},
		{
			name: "the newest revision", of: "ControllerRevision/web-new",
			objects: []runtime.Object{setOf(2, nil), web("0", old), web("1"), &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "web-new", OwnerReferences: ownedBy("StatefulSet", "web")}, Revision: 3}},
			want:    "ControllerRevision demo/web-new is the pod template of revision 3 of StatefulSet demo/web, the newest: 1 of 2 pods have it",
		},

		{
			name: "daemons", objects: []runtime.Object{daemons(nil), nodeWith("node-1", nil), nodeWith("node-2", nil, corev1.Taint{Key: "node.kubernetes.io/unschedulable", Effect: corev1.TaintEffectNoSchedule}), nodeWith("node-3", nil, gpu), daemonOn("node-1", "log-a"), daemonOn("node-2", "log-b")},
			want: "DaemonSet demo/log wants a pod on 2 of 3 nodes and has 2, all ready; node-3 gets none: it has the taint gpu=yes:NoSchedule, which the pods do not tolerate",
			from: []string{"pod log-a: is ready on node-1, for node-1", "pod log-b: is ready on node-2, for node-2", "node node-3: gets no pod: it has the taint gpu=yes:NoSchedule, which the pods do not tolerate"},
		},
		{
			name: "daemons by selector", objects: []runtime.Object{daemons(func(ds *appsv1.DaemonSet) { ds.Spec.Template.Spec.NodeSelector = map[string]string{"disk": "ssd"} }), nodeWith("node-1", map[string]string{"disk": "hdd"}), nodeWith("node-2", nil)},
			want: "DaemonSet demo/log wants a pod on 0 of 2 nodes and has none; node-1 gets none: it has disk=hdd, and spec.template.spec.nodeSelector wants disk=ssd; nor does one more node",
		},
		{
			name: "a daemon waits", objects: []runtime.Object{daemons(nil), nodeWith("node-1", nil), daemonOn("node-1", "log-a", unready)},
			want: "DaemonSet demo/log wants a pod on 1 of 1 node and has 1, which is not ready: log-a of node-1 is not ready: container web waits: ImagePullBackOff",
		},
		{
			name: "a daemon stays", objects: []runtime.Object{daemons(nil), nodeWith("node-3", nil, gpu), daemonOn("node-3", "log-a")},
			want: "DaemonSet demo/log wants a pod on 0 of 1 node and has none; node-3 has one that would not be made now",
			from: []string{"node node-3: would get no pod: it has the taint gpu=yes:NoSchedule, which the pods do not tolerate; the one that it has stays, because such a taint drives none away"},
		},
		{
			name: "a daemon's node", of: "Pod/log-a", objects: []runtime.Object{daemons(nil), nodeWith("node-1", nil, corev1.Taint{Key: "node.kubernetes.io/unschedulable", Effect: corev1.TaintEffectNoSchedule}), daemonOn("node-1", "log-a")},
			want: "Pod demo/log-a is for node-1 alone: DaemonSet demo/log makes one for each node, and its node affinity (metadata.name in [node-1]) leaves the scheduler no other",
			from: []string{"DaemonSet demo/log: made it for node-1"},
		},

		{
			name: "job runs", objects: []runtime.Object{jobWith(5, 2, func(j *batchv1.Job) { j.Status.Succeeded, j.Status.Failed = 1, 1 }), podOf("Job", "pi", "pi-a"), podOf("Job", "pi", "pi-b")},
			want: "Job demo/pi runs 2 pods; 1 of 5 completions succeeded, 1 pod failed (backoffLimit 6)",
		},
		{
			name: "job backs off", objects: []runtime.Object{
				jobWith(1, 1, func(j *batchv1.Job) { j.Status.Failed = 3 }),
				podOf("Job", "pi", "pi-a", failedAt(asked.Add(-80*time.Second))), podOf("Job", "pi", "pi-b", failedAt(asked.Add(-50*time.Second))), podOf("Job", "pi", "pi-c", failedAt(asked.Add(-20*time.Second))),
			},
			want: "Job demo/pi waits 20 s before the next try: 3 pods failed in a row, so the back-off is 10 s x 2^2 = 40 s from the last failure (2026-01-01T12:09:40Z) on; 0 of 1 completion succeeded, 3 pods failed (backoffLimit 6)",
		},
		{
			name: "index backs off", objects: []runtime.Object{
				jobWith(4, 1, func(j *batchv1.Job) {
					j.Spec.CompletionMode, j.Spec.BackoffLimitPerIndex = ptr.To(batchv1.IndexedCompletion), ptr.To(int32(5))
					j.Status.Succeeded, j.Status.CompletedIndexes, j.Status.FailedIndexes = 2, "0,1", ptr.To("2")
				}), podOf("Job", "pi", "pi-3-a", failedAt(asked.Add(-5*time.Second)), tracked, indexOf("3", "1")),
			},
			want: "Job demo/pi waits 15 s before the next try: index 3 failed twice, so the back-off is 10 s x 2^1 = 20 s from the last failure (2026-01-01T12:09:55Z) on; 2 of 4 completions succeeded (index 0,1), index 2 failed for good (backoffLimitPerIndex 5)",
			from: []string{"pod pi-3-a: has failed: container pi ended with exit code 1, index 3"},
		},
		{
			name: "job failed", objects: []runtime.Object{jobWith(1, 1, func(j *batchv1.Job) {
				j.Status.Failed, j.Status.Conditions = 7, []batchv1.JobCondition{jobIs(batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded)}
			})},
			want: "Job demo/pi has failed at 2026-01-01T12:09:00Z: BackoffLimitExceeded: 7 pods failed, and backoffLimit is 6; 0 of 1 completion succeeded; it stays until somebody deletes it, because ttlSecondsAfterFinished is not set",
		},
		{
			name: "job's deadline", objects: []runtime.Object{jobWith(1, 1, func(j *batchv1.Job) {
				j.Spec.ActiveDeadlineSeconds, j.Status.Conditions = ptr.To(int64(540)), []batchv1.JobCondition{jobIs(batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded)}
			})},
			want: "Job demo/pi has failed at 2026-01-01T12:09:00Z: DeadlineExceeded: it had run since 2026-01-01T12:00:00Z, and activeDeadlineSeconds is 540; 0 of 1 completion succeeded; it stays until somebody deletes it, because ttlSecondsAfterFinished is not set",
		},
		{
			name: "job complete", objects: []runtime.Object{jobWith(3, 1, func(j *batchv1.Job) {
				j.Status.Succeeded, j.Spec.TTLSecondsAfterFinished = 3, ptr.To(int32(100))
				j.Status.Conditions = []batchv1.JobCondition{jobIs(batchv1.JobComplete, "")}
			})},
			want: "Job demo/pi is Complete since 2026-01-01T12:09:00Z: 3 of 3 completions succeeded; it is deleted at 2026-01-01T12:10:40Z (in 40 s), because ttlSecondsAfterFinished is 100",
		},
		{
			name: "job suspended", objects: []runtime.Object{jobWith(3, 1, func(j *batchv1.Job) { j.Spec.Suspend = ptr.To(true) })},
			want: "Job demo/pi is suspended (spec.suspend is true), so no pod runs of it; 0 of 3 completions succeeded",
		},
		{
			name: "job of another", objects: []runtime.Object{jobWith(3, 1, func(j *batchv1.Job) { j.Spec.ManagedBy = ptr.To("example.org/queue") })},
			want: "Job demo/pi is left to the controller example.org/queue (spec.managedBy): kube-controller-manager does nothing with it",
		},
		{
			name: "job ends", objects: []runtime.Object{jobWith(1, 1, func(j *batchv1.Job) {
				j.Status.Failed, j.Status.Conditions = 7, []batchv1.JobCondition{jobIs(batchv1.JobFailureTarget, batchv1.JobReasonBackoffLimitExceeded)}
			}), podOf("Job", "pi", "pi-a", going, tracked)},
			want: "Job demo/pi is going to be Failed (BackoffLimitExceeded: 7 pods failed, and backoffLimit is 6), and waits until 1 pod has ended and is counted",
		},
		{
			name: "job's deadline is near", objects: []runtime.Object{jobWith(1, 1, func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = ptr.To(int64(630)) }), podOf("Job", "pi", "pi-a")},
			want: "Job demo/pi runs 1 pod; 0 of 1 completion succeeded",
			from: []string{"pod pi-a: is ready on node-1", "activeDeadlineSeconds: 630: the Job fails at 2026-01-01T12:10:30Z (in 30 s), whatever runs then"},
		},
		{
			name: "a pod that has ended", of: "Pod/pi-a", objects: []runtime.Object{jobWith(1, 1, func(j *batchv1.Job) {
				j.Status.Conditions = []batchv1.JobCondition{jobIs(batchv1.JobComplete, "")}
			}), podOf("Job", "pi", "pi-a", succeeded)},
			want: "Pod demo/pi-a has ended (Succeeded) and stays, so that its log can be read: it goes with Job demo/pi, which is Complete; it stays until somebody deletes it, because ttlSecondsAfterFinished is not set",
		},
		{
			name: "a pod that is not counted", of: "Pod/pi-a", objects: []runtime.Object{jobWith(1, 1, func(j *batchv1.Job) {
				j.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Succeeded: []types.UID{"pi-a"}}
			}), podOf("Job", "pi", "pi-a", succeeded, tracked)},
			want: "Pod demo/pi-a has ended (Succeeded) and stays, so that its log can be read: it goes with Job demo/pi",
			from: []string{"finalizer batch.kubernetes.io/job-tracking: the Job has the pod in status.uncountedTerminatedPods: the finalizer goes next, and then the pod is counted for good"},
		},

		{
			name: "cron", objects: []runtime.Object{ticking("*/5 * * * *", lastRun(10*time.Minute))},
			want: `CronJob demo/tick runs next at 2026-01-01T12:15:00Z (in 5m0s), by schedule "*/5 * * * *"; its last run was that of 2026-01-01T12:10:00Z`,
			from: []string{"next run: at 2026-01-01T12:15:00Z (in 5m0s)", "then: at 2026-01-01T12:20:00Z (in 10m0s)", "then: at 2026-01-01T12:25:00Z (in 15m0s)"},
		},
		{
			name: "cron in its zone", objects: []runtime.Object{ticking("0 14 * * *", func(cj *batchv1.CronJob) { cj.Spec.TimeZone = ptr.To("Europe/Berlin") })},
			want: `CronJob demo/tick runs next at 2026-01-01T14:00:00+01:00 (in 50m0s), by schedule "0 14 * * *"; it has not run yet`,
		},
		{
			name: "cron suspended", objects: []runtime.Object{ticking("*/5 * * * *", func(cj *batchv1.CronJob) { cj.Spec.Suspend = ptr.To(true) })},
			want: `CronJob demo/tick is suspended (spec.suspend is true), so no Job is started; by schedule "*/5 * * * *" it would run next at 2026-01-01T12:15:00Z (in 5m0s); it has not run yet`,
		},
		{
			name: "Forbid", objects: []runtime.Object{ticking("*/4 * * * *", func(cj *batchv1.CronJob) {
				lastRun(4 * time.Minute)(cj)
				cj.Spec.ConcurrencyPolicy, cj.Status.Active = batchv1.ForbidConcurrent, []corev1.ObjectReference{{Name: "tick-1"}}
				cj.Spec.StartingDeadlineSeconds = ptr.To(int64(130))
			})},
			want: "CronJob demo/tick holds back the run of 2026-01-01T12:08:00Z: concurrencyPolicy is Forbid, and Job tick-1 still runs; it starts when that has ended in time, at the latest at 2026-01-01T12:10:10Z (in 10 s) (startingDeadlineSeconds 130)",
		},
		{
			name: "missed", objects: []runtime.Object{ticking("*/3 * * * *", nil)},
			want: "CronJob demo/tick missed 3 runs since 2026-01-01T12:00:00Z: only the newest, of 2026-01-01T12:09:00Z, is made up for; it runs next at 2026-01-01T12:12:00Z (in 2m0s)",
		},
		{
			name: "too late", objects: []runtime.Object{ticking("*/3 * * * *", func(cj *batchv1.CronJob) { cj.Spec.StartingDeadlineSeconds = ptr.To(int64(30)) })},
			want: "CronJob demo/tick missed 3 runs: the newest was due at 2026-01-01T12:09:00Z, more than startingDeadlineSeconds 30 ago, so no Job is started for it any more; it runs next at 2026-01-01T12:12:00Z (in 2m0s)",
		},
		{
			name: "unreadable", objects: []runtime.Object{ticking("every day", nil)},
			want: `CronJob demo/tick starts no Job: spec.schedule "every day" cannot be read: expected exactly 5 fields, found 2: [every day]`,
		},
		{
			name: "Replace", objects: []runtime.Object{ticking("*/5 * * * *", func(cj *batchv1.CronJob) {
				lastRun(10 * time.Minute)(cj)
				cj.Spec.ConcurrencyPolicy, cj.Status.Active = batchv1.ReplaceConcurrent, []corev1.ObjectReference{{Name: "tick-1"}}
			})},
			want: `CronJob demo/tick runs next at 2026-01-01T12:15:00Z (in 5m0s), by schedule "*/5 * * * *"; its last run was that of 2026-01-01T12:10:00Z; Job tick-1 still runs, and the next run replaces it, because concurrencyPolicy is Replace`,
		},

		{
			name: "deployment", of: "Deployment/web", objects: []runtime.Object{
				deploymentOf(3, func(d *appsv1.Deployment) {
					d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.AvailableReplicas = 3, 3, 2
				}), replicaSetOf("web", "web-1", "1", 3), podOf("ReplicaSet", "web-1", "web-1-a", unready),
			},
			want: "Deployment demo/web has 2 of 3 pods available: 3 of the newest template, 3 in all; web-1-a is not ready: container web waits: ImagePullBackOff",
			from: []string{"ReplicaSet web-1: revision 1: wants 3 pods, has 3, 0 available"},
		},
		{
			name: "paused", of: "Deployment/web", objects: []runtime.Object{deploymentOf(0, func(d *appsv1.Deployment) { d.Spec.Paused = true })},
			want: "Deployment demo/web is paused (spec.paused is true): a new pod template starts no rollout until kubectl rollout resume",
		},
		{
			name: "replicas", of: "ReplicaSet/web-1", objects: []runtime.Object{replicaSetOf("web", "web-1", "1", 2), podOf("ReplicaSet", "web-1", "web-1-a", unready)},
			want: "ReplicaSet demo/web-1 has 2 of 2 pods, 0 available; web-1-a is not ready: container web waits: ImagePullBackOff",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := standing(t, c.objects...)
			kind, name, asked := strings.Cut(c.of, "/")
			if !asked {
				kinds, _, _ := scheme.Scheme.ObjectKinds(c.objects[0])
				kind, name = kinds[0].Kind, c.objects[0].(metav1.Object).GetName()
			}
			all := s.Reasons(s.Object(kind, "demo", name))
			var found *view.Reason
			for i := range all {
				if all[i].Says == c.want {
					found = &all[i]
				}
			}
			if found == nil {
				t.Fatalf("%+v\nwant %s", all, c.want)
			}
			if c.from == nil {
				return
			}
			for i, want := range c.from {
				if i >= len(found.From) || found.From[i].What+": "+found.From[i].Why != want {
					t.Fatalf("%+v\nwant %s", found.From, strings.Join(c.from, "\n"))
				}
			}
		})
	}
}

// A DaemonSet wants a pod on just the nodes that upstream's controller gives one.
func TestDaemonsAreWantedWhereUpstreamWantsThem(t *testing.T) {
	var nodes []*corev1.Node
	for i, labels := range []map[string]string{nil, {"disk": "ssd"}, {"disk": "hdd"}} {
		for j, taints := range [][]corev1.Taint{
			nil,
			{{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule}},
			{{Key: "gpu", Effect: corev1.TaintEffectNoExecute}},
			{{Key: "gpu", Effect: corev1.TaintEffectPreferNoSchedule}},
			{{Key: "node.kubernetes.io/unschedulable", Effect: corev1.TaintEffectNoSchedule}},
			{{Key: "node.kubernetes.io/unreachable", Effect: corev1.TaintEffectNoExecute}},
		} {
			nodes = append(nodes, nodeWith("n"+string(rune('0'+i))+string(rune('0'+j)), labels, taints...))
		}
	}
	for i, ds := range []*appsv1.DaemonSet{
		daemons(nil),
		daemons(func(ds *appsv1.DaemonSet) { ds.Spec.Template.Spec.NodeName = "n10" }),
		daemons(func(ds *appsv1.DaemonSet) { ds.Spec.Template.Spec.NodeSelector = map[string]string{"disk": "ssd"} }),
		daemons(func(ds *appsv1.DaemonSet) {
			ds.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}
		}),
		daemons(func(ds *appsv1.DaemonSet) {
			ds.Spec.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "disk", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"hdd"}}},
			}}}}}
		}),
	} {
		for _, n := range nodes {
			should, may := daemon.NodeShouldRunDaemonPod(klog.Background(), n, ds)
			why, stays := view.Refuses(ds, n)
			if (why == "") != should || stays != may {
				t.Errorf("DaemonSet %d, node %s: %q, stays %v; upstream says %v and %v", i, n.Name, why, stays, should, may)
			}
		}
	}
}
