package view_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	kmeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	daemon "k8s.io/kubernetes/pkg/controller/daemon/util"
	deployment "k8s.io/kubernetes/pkg/controller/deployment/util"
	"pgregory.net/rapid"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/raftstore/steady"
)

// folding writes objects and folds what comes of it.
type folding struct {
	b        *view.Builder
	at       time.Duration
	seq      uint64
	revision int64
	request  uint64
}

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newFolding() *folding {
	f := &folding{b: view.NewBuilder()}
	f.say(trace.RunStart, trace.Ref{}, &trace.Run{Seed: 1, Epoch: start})
	return f
}

func (f *folding) say(k trace.Kind, ref trace.Ref, payload any, causes ...trace.ID) trace.ID {
	f.seq++
	id := trace.ID{Seq: f.seq}
	f.b.Apply(&trace.Event{ID: id, At: f.at, Lane: lane("apiserver"), Kind: k, Object: ref, Payload: payload, Causes: causes})
	return id
}

// write stores an object, or deletes it, by the request of a client.
func (f *folding) write(client string, v runtime.Object, deleted bool) {
	m, err := kmeta.Accessor(v)
	if err != nil {
		panic(err)
	}
	api, kind := v.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
	ref := trace.Ref{APIVersion: api, Kind: kind, Namespace: m.GetNamespace(), Name: m.GetName(), UID: string(m.GetUID())}
	f.request++
	got := f.say(trace.RequestReceived, ref, &trace.Request{Request: f.request, Client: client})
	got = f.say(trace.RequestStage, ref, &trace.Stage{Request: f.request, Stage: trace.StageStorage, Verdict: "pass"}, got)
	f.revision++
	c := trace.KeyChange{Key: "/registry/" + ref.String(), Object: ref, Deleted: deleted}
	if !deleted {
		c.Value = trace.Obj(v.DeepCopyObject())
	}
	f.say(trace.StoreCommit, ref, &trace.Commit{Revision: f.revision, Changes: []trace.KeyChange{c}}, got)
	f.say(trace.RequestDone, ref, &trace.Response{Request: f.request, Code: 200})
}

func meta(name string, owner ...metav1.OwnerReference) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "demo", Name: name, UID: types.UID("uid-" + name), OwnerReferences: owner, CreationTimestamp: metav1.NewTime(start)}
}

func controlledBy(kind, name string) metav1.OwnerReference {
	return metav1.OwnerReference{Kind: kind, Name: name, UID: types.UID("uid-" + name), Controller: pointer(true)}
}

func pointer[T any](v T) *T { return &v }

// podIn is a pod that is so far.
func podIn(name string, in view.Stage, owner ...metav1.OwnerReference) *corev1.Pod {
	p := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: meta(name, owner...)}
	p.Status.Phase = corev1.PodPending
	if in != view.Waiting {
		p.Spec.NodeName = "node-1"
	}
	switch in {
	case view.Unready, view.Ready, view.Terminating:
		p.Status.Phase = corev1.PodRunning
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
		if in != view.Unready {
			p.Status.Conditions[0].Status = corev1.ConditionTrue
		}
	case view.Succeeded:
		p.Status.Phase = corev1.PodSucceeded
	case view.Failed:
		p.Status.Phase = corev1.PodFailed
	}
	if in == view.Terminating {
		p.DeletionTimestamp = pointer(metav1.NewTime(start))
	}
	return p
}

var podStages = []view.Stage{view.Waiting, view.Starting, view.Unready, view.Ready, view.Succeeded, view.Failed, view.Terminating}

// Whatever is written, the counts of an owner's family are those of its children, and those on their way are
// exactly those that have not come to rest.
func TestFamiliesAreCounted(t *testing.T) {
	steady.Check(t, func(t *rapid.T) {
		f := newFolding()
		kinds := []string{"ReplicaSet", "Job"}
		for range rapid.IntRange(1, 120).Draw(t, "writes") {
			owner := kinds[rapid.IntRange(0, 1).Draw(t, "owner")]
			name := fmt.Sprintf("pod-%d", rapid.IntRange(0, 9).Draw(t, "pod"))
			in := rapid.SampledFrom(podStages).Draw(t, "stage")
			f.write("kubelet", podIn(name, in, controlledBy(owner, strings.ToLower(owner))), rapid.IntRange(0, 4).Draw(t, "deleted") == 0)
		}
		s := f.b.Mark()
		for _, owner := range kinds {
			uid := "uid-" + strings.ToLower(owner)
			count, unsettled := map[view.Stage]int{}, 0
			for _, c := range s.Children(uid) {
				in := view.StageOf(c.Value)
				count[in]++
				if in != view.Succeeded && (in != view.Ready || owner == "Job") {
					unsettled++
				}
			}
			fam, total := s.Family(uid, "pods"), 0
			for _, in := range view.Stages() {
				if total += count[in]; fam.In(in) != count[in] {
					t.Fatalf("%s has %d pods that are %s, counted are %d", owner, count[in], in, fam.In(in))
				}
			}
			if got := len(s.Unsettled(uid, "pods", 100)); fam.Total != total || got != unsettled {
				t.Fatalf("%s has %d pods, %d on their way; counted are %d and %d", owner, total, unsettled, fam.Total, got)
			}
		}
	})
}

// What goes with its last child leaves nothing behind, in whatever order owner and children go.
func TestFamiliesEnd(t *testing.T) {
	for _, ownerFirst := range []bool{true, false} {
		f := newFolding()
		rs, pod := replicaSet("web-1", 1, 1), podIn("a", view.Ready, controlledBy("ReplicaSet", "web-1"))
		f.write("x", rs, false)
		f.write("x", pod, false)
		for _, first := range []bool{ownerFirst, !ownerFirst} {
			if first {
				f.write("x", rs, true)
			} else {
				f.write("x", pod, true)
			}
		}
		if s := f.b.Mark(); len(s.Families("uid-web-1")) != 0 || s.Family("uid-web-1", "pods").Lost != nil {
			t.Errorf("owner first %t: something is left", ownerFirst)
		}
	}
}

func replicaSet(name string, revision int, replicas int32) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ReplicaSet"}, ObjectMeta: meta(name, controlledBy("Deployment", "web"))}
	rs.Annotations = map[string]string{"deployment.kubernetes.io/revision": fmt.Sprint(revision)}
	rs.Spec.Replicas = &replicas
	return rs
}

func rolledOut(replicas int32, surge, missing string, revision int) *appsv1.Deployment {
	d := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: meta("web")}
	d.Annotations = map[string]string{"deployment.kubernetes.io/revision": fmt.Sprint(revision)}
	s, m := intstr.Parse(surge), intstr.Parse(missing)
	d.Spec.Replicas = &replicas
	d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &s, MaxUnavailable: &m}}
	return d
}

// The numbers between which a rollout moves are upstream's, for every share and size.
func TestFencepostsAreUpstreams(t *testing.T) {
	for replicas := int32(0); replicas <= 21; replicas++ {
		for _, surge := range []string{"0", "1", "3", "1%", "10%", "25%", "33%", "50%", "100%"} {
			for _, missing := range []string{"0", "1", "2", "1%", "10%", "25%", "33%", "50%", "100%"} {
				f := newFolding()
				d := rolledOut(replicas, surge, missing, 1)
				f.write("x", d, false)
				r := f.b.Live().Rollout(f.b.Live().Object("deployments", "demo", "web"))
				ru := d.Spec.Strategy.RollingUpdate
				s, m, err := deployment.ResolveFenceposts(ru.MaxSurge, ru.MaxUnavailable, replicas)
				if err != nil || r.Surge != int(s) || r.Missing != int(m) {
					t.Errorf("%d replicas, maxSurge %s, maxUnavailable %s: %d and %d, upstream has %d and %d (%v)", replicas, surge, missing, r.Surge, r.Missing, s, m, err)
				}
				ds := &appsv1.DaemonSet{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"}, ObjectMeta: meta("log")}
				ds.Status.DesiredNumberScheduled = replicas
				ds.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType, RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxSurge: ru.MaxSurge, MaxUnavailable: ru.MaxUnavailable}}
				f.write("x", ds, false)
				r = f.b.Live().Rollout(f.b.Live().Object("daemonsets", "demo", "log"))
				up, err1 := daemon.SurgeCount(ds, int(replicas))
				down, err2 := daemon.UnavailableCount(ds, int(replicas))
				if err1 != nil || err2 != nil || r.Surge != up || r.Missing != down {
					t.Errorf("DaemonSet of %d, maxSurge %s, maxUnavailable %s: %d and %d, upstream has %d and %d", replicas, surge, missing, r.Surge, r.Missing, up, down)
				}
			}
		}
	}
}

// A rollout step by step: what there is, whether the invariant holds, and whose doing it is where it does not.
func TestRolloutTellsWhoBrokeIt(t *testing.T) {
	f := newFolding()
	f.write("kubectl", rolledOut(3, "1", "0", 1), false)
	f.write("x", replicaSet("web-1", 1, 3), false)
	look := func() *view.Rollout { return f.b.Live().Rollout(f.b.Live().Object("deployments", "demo", "web")) }
	says := func(when string, total, available int, want string, good bool) {
		t.Helper()
		r := look()
		if got, ok := r.Says(); r.Total != total || r.Available != available || got != want || ok != good || r.Held() != good {
			t.Errorf("%s: %d pods, %d available, %q (%t); want %d, %d, %q (%t)", when, r.Total, r.Available, got, ok, total, available, want, good)
		}
	}
	pod := func(client, name string, in view.Stage, rs string) {
		f.write(client, podIn(name, in, controlledBy("ReplicaSet", rs)), false)
	}
	says("no pod yet", 0, 0, "not reached yet: 3 pods still to become available", false)
	for _, name := range []string{"a", "b", "c"} {
		pod("kubelet/node-1", name, view.Ready, "web-1")
	}
	const held = "held: at most 4 are there, at least 3 are available"
	says("all are there", 3, 3, held, true)

	f.write("kubectl", rolledOut(3, "1", "0", 2), false)
	f.write("deployment-controller", replicaSet("web-2", 2, 1), false)
	pod("replicaset-controller", "d", view.Waiting, "web-2")
	says("the first new one", 4, 3, held, true)
	pod("kubelet/node-1", "d", view.Ready, "web-2")
	f.write("deployment-controller", replicaSet("web-1", 1, 2), false)
	pod("replicaset-controller", "a", view.Terminating, "web-1")
	says("an old one goes", 3, 3, held, true)
	if r := look(); r.Terminating != 1 || r.Updated != 1 || len(r.Revisions) != 2 || !r.Revisions[0].Current || r.Done() {
		t.Errorf("a rollout under way: %+v", r)
	}
	pod("kubectl", "b", view.Terminating, "web-1")
	says("somebody deletes another", 2, 2, "broken, not by the rollout: b was deleted by kubectl", false)
	pod("replicaset-controller", "e", view.Starting, "web-1")
	says("another is made", 3, 2, "broken, not by the rollout: b was deleted by kubectl", false)
	pod("kubelet/node-1", "e", view.Ready, "web-1")
	says("and is ready", 3, 3, held, true)
	pod("node-lifecycle-controller", "c", view.Unready, "web-1")
	says("a node is lost", 3, 2, "broken, not by the rollout: c was lost with node-1 (node-lifecycle-controller)", false)
	pod("kubelet/node-1", "c", view.Ready, "web-1")
	pod("x", "f", view.Waiting, "web-2")
	pod("x", "g", view.Waiting, "web-2")
	says("too many", 5, 3, "1 pod more than may be: the controller deletes it", false)

	of, steps := f.b.Live().Steps(look(), 10)
	var got []string
	for _, st := range steps {
		got = append(got, fmt.Sprint(st.Sets))
	}
	if want := []string{"[{1 0} {3 0}]", "[{1 0} {2 0}]"}; len(of) != 2 || !slices.Equal(got, want) {
		t.Errorf("steps %v of %d, want %v", got, len(of), want)
	}
}

// What was lost is told for as long as it is missing: not where fewer are wanted now.
func TestALossIsToldWhileItIsMissing(t *testing.T) {
	f := newFolding()
	f.write("kubectl", rolledOut(2, "0", "1", 1), false)
	f.write("x", replicaSet("web-1", 1, 2), false)
	for _, name := range []string{"a", "b"} {
		f.write("kubelet/node-1", podIn(name, view.Ready, controlledBy("ReplicaSet", "web-1")), false)
	}
	f.write("kubectl", podIn("a", view.Terminating, controlledBy("ReplicaSet", "web-1")), false)
	look := func() (string, bool) {
		return f.b.Live().Rollout(f.b.Live().Object("deployments", "demo", "web")).Says()
	}
	if got, good := look(); got != "held, though a was deleted by kubectl" || !good {
		t.Errorf("one is gone: %q (%t)", got, good)
	}
	f.write("kubectl", rolledOut(1, "0", "1", 1), false)
	f.write("x", replicaSet("web-1", 1, 1), false)
	if got, good := look(); got != "held: at most 1 are there, at least 0 are available" || !good {
		t.Errorf("no more are wanted: %q (%t)", got, good)
	}
}

// The pod of a DaemonSet on a lost node stays, and counts neither as one too many nor as one that is missing.
func TestAMisplacedDaemonCountsAsNeither(t *testing.T) {
	f := newFolding()
	ds := daemons(func(ds *appsv1.DaemonSet) {
		ds.TypeMeta, ds.ObjectMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"}, meta("log")
		ds.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxUnavailable: pointer(intstr.FromInt32(1))}
		ds.Status = appsv1.DaemonSetStatus{DesiredNumberScheduled: 2, CurrentNumberScheduled: 2, UpdatedNumberScheduled: 2, NumberReady: 2, NumberAvailable: 2, NumberMisscheduled: 1}
	})
	f.write("x", ds, false)
	for _, name := range []string{"a", "b", "c"} {
		f.write("kubelet", podIn(name, view.Ready, controlledBy("DaemonSet", "log")), false)
	}
	f.write("node-lifecycle-controller", podIn("c", view.Unready, controlledBy("DaemonSet", "log")), false)
	r := f.b.Live().Rollout(f.b.Live().Object("ds", "demo", "log"))
	if says, good := r.Says(); r.Total != 2 || r.Available != 2 || r.Misplaced != 1 || says != "held: at most 2 are there, at least 1 are available" || !good {
		t.Errorf("%q (%t), %d pods, %d available, %d misplaced", says, good, r.Total, r.Available, r.Misplaced)
	}
}

// Old ReplicaSets are counted, not listed.
func TestOldReplicaSetsAreFolded(t *testing.T) {
	f := newFolding()
	f.write("x", rolledOut(2, "1", "0", 12), false)
	for i := 1; i <= 12; i++ {
		f.write("x", replicaSet(fmt.Sprintf("web-%d", i), i, int32(i/12*2)), false)
	}
	r := f.b.Live().Rollout(f.b.Live().Object("deployments", "demo", "web"))
	if len(r.Revisions) != 1 || r.Revisions[0].Number != 12 || r.Older != 11 {
		t.Errorf("%d revisions, the first %d, %d older", len(r.Revisions), r.Revisions[0].Number, r.Older)
	}
}

func statefulSet(replicas int32, partition int32) *appsv1.StatefulSet {
	v := &appsv1.StatefulSet{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"}, ObjectMeta: meta("db")}
	v.Spec.Replicas = &replicas
	v.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: "RollingUpdate", RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition}}
	v.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
	v.Status.CurrentRevision, v.Status.UpdateRevision = "db-old", "db-new"
	return v
}

// Each slot has its pod, its revision and its claims; what is not there says what it waits for.
func TestSlots(t *testing.T) {
	f := newFolding()
	f.write("x", statefulSet(5, 1), false)
	for i, in := range []view.Stage{view.Ready, view.Unready} {
		p := podIn(fmt.Sprintf("db-%d", i), in, controlledBy("StatefulSet", "db"))
		p.Labels = map[string]string{"controller-revision-hash": []string{"db-old", "db-new"}[i]}
		f.write("x", p, false)
		pvc := &corev1.PersistentVolumeClaim{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}, ObjectMeta: meta(fmt.Sprintf("data-db-%d", i))}
		pvc.Status.Phase = []corev1.PersistentVolumeClaimPhase{corev1.ClaimBound, corev1.ClaimPending}[i]
		f.write("x", pvc, false)
	}
	s := f.b.Live()
	var got []string
	for _, slot := range s.Slots(s.Object("sts", "demo", "db"), 0, 10) {
		got = append(got, fmt.Sprintf("%d %t %s new=%t kept=%t claim=%t bound=%t waits=%s", slot.Ordinal, slot.Pod != nil, slot.Stage, slot.New, slot.Kept, slot.Claims[0].Claim != nil, slot.Claims[0].Bound, slot.Waits))
	}
	want := []string{
		"0 true ready new=false kept=true claim=true bound=true waits=",
		"1 true not ready new=true kept=false claim=true bound=false waits=",
		"2 false there new=false kept=false claim=false bound=false waits=db-1",
		"3 false there new=false kept=false claim=false bound=false waits=db-1",
		"4 false there new=false kept=false claim=false bound=false waits=db-1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("slots\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for name, want := range map[string]int{"db-0": 0, "db-17": 17, "a-1-2": 2, "db": -1, "db-": -1, "-3": 3, "": -1, "db7": -1} {
		if got := view.OrdinalOf(name); got != want {
			t.Errorf("the ordinal of %q is %d, want %d", name, got, want)
		}
	}
}

// Of a thousand slots those are shown that are on their way, and the ends.
func TestWorth(t *testing.T) {
	f := newFolding()
	f.write("x", statefulSet(1000, 0), false)
	for i := range 1000 {
		in := view.Ready
		if i == 500 || i == 77 {
			in = view.Unready
		}
		f.write("x", podIn(fmt.Sprintf("db-%d", i), in, controlledBy("StatefulSet", "db")), false)
	}
	s := f.b.Live()
	if got, want := s.Worth(s.Object("sts", "demo", "db"), 6), []int{0, 1, 2, 77, 500, 999}; !slices.Equal(got, want) {
		t.Errorf("worth seeing are %v, want %v", got, want)
	}
}

// Ranges say what a list of indexes says, whatever it is.
func TestRanges(t *testing.T) {
	steady.Check(t, func(t *rapid.T) {
		const n = 60
		has := make([]bool, n)
		for i := range has {
			has[i] = rapid.Bool().Draw(t, "has")
		}
		var parts []string
		for i := 0; i < n; i++ {
			if !has[i] {
				continue
			}
			from := i
			for i+1 < n && has[i+1] {
				i++
			}
			switch i - from {
			case 0:
				parts = append(parts, fmt.Sprint(from))
			case 1:
				parts = append(parts, fmt.Sprintf("%d,%d", from, i))
			default:
				parts = append(parts, fmt.Sprintf("%d-%d", from, i))
			}
		}
		text := strings.Join(parts, ",")
		r, more := view.ParseRanges(text, n)
		if more || r.String() != text {
			t.Fatalf("%q is written as %q", text, r)
		}
		count := 0
		for _, x := range has {
			if x {
				count++
			}
		}
		if r.Count() != count {
			t.Fatalf("%q has %d indexes, counted are %d", text, count, r.Count())
		}
	})
	for text, want := range map[string]string{"": "", "x": "", "1,x,3": "1,3", "5-x,7": "7", "8-20": "8,9", "10": "", "-4": "", "3-2": ""} {
		if r, _ := view.ParseRanges(text, 10); r.String() != want {
			t.Errorf("%q is read as %q, want %q", text, r, want)
		}
	}
}

func indexedJob(completions int32, done, lost string) *batchv1.Job {
	j := &batchv1.Job{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}, ObjectMeta: meta("pi")}
	j.Spec.Completions, j.Spec.Parallelism, j.Spec.BackoffLimitPerIndex = &completions, pointer(int32(3)), pointer(int32(2))
	j.Spec.CompletionMode = pointer(batchv1.IndexedCompletion)
	j.Status.CompletedIndexes, j.Status.FailedIndexes = done, &lost
	return j
}

// Every index is in one state, and a bar of any width shows what matters most.
func TestJobRun(t *testing.T) {
	f := newFolding()
	f.write("x", indexedJob(20, "0-3,5", "4"), false)
	pod := func(index int, in view.Stage, failed string) {
		p := podIn(fmt.Sprintf("pi-%d-%d", index, in), in, controlledBy("Job", "pi"))
		p.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: fmt.Sprint(index), "batch.kubernetes.io/job-index-failure-count": failed}
		f.write("x", p, false)
	}
	pod(4, view.Failed, "2")
	pod(6, view.Ready, "1")
	pod(7, view.Failed, "0")
	pod(8, view.Waiting, "0")
	s := f.b.Live()
	r := s.JobRun(s.Object("jobs", "demo", "pi"))
	if got, want := fmt.Sprint(r.Done, "|", r.Lost, "|", r.Running, "|", r.Again, "|", r.NotBegun, "|", r.Retried()), "0-3,5|4|6,8|7|9-19|[{61}]"; strings.ReplaceAll(got, " ", "") != want {
		t.Errorf("indexes %s, want %s", got, want)
	}
	for w, want := range map[int]string{20: "■■■■✗■●↻●···········", 40: "■■■■✗■●↻●···········", 10: "■■✗↻●·····", 5: "■✗●··", 1: "✗"} {
		if cells, _ := r.Bar(w); string(cells) != want {
			t.Errorf("a bar of %d is %q, want %q", w, string(cells), want)
		}
	}
}

// A hundred thousand indexes, every second of them done, cost no more than is read of them.
func TestHugeJob(t *testing.T) {
	var b strings.Builder
	for i := 0; i < 100_000; i += 2 {
		fmt.Fprintf(&b, "%d,", i)
	}
	f := newFolding()
	j := indexedJob(100_000, strings.TrimSuffix(b.String(), ","), "")
	j.Status.Succeeded = 50_000
	f.write("x", j, false)
	s := f.b.Live()
	r := s.JobRun(s.Object("jobs", "demo", "pi"))
	if !r.More || len(r.Done) > 2048 || r.Succeeded != 50_000 {
		t.Errorf("%d ranges are read, more %t", len(r.Done), r.More)
	}
	if cells, per := r.Bar(80); len(cells) != 80 || per != 1250 {
		t.Errorf("a bar has %d cells of %d", len(cells), per)
	}
}

func cronJob(schedule, zone string) *batchv1.CronJob {
	v := &batchv1.CronJob{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "CronJob"}, ObjectMeta: meta("tick")}
	v.Spec.Schedule = schedule
	if zone != "" {
		v.Spec.TimeZone = &zone
	}
	return v
}

// The next runs are those of the schedule in its time zone; runs that were due and did not begin are counted.
func TestSchedule(t *testing.T) {
	for _, c := range []struct {
		schedule, zone string
		at             time.Duration
		deadline       *int64
		next           string
		missed         int
		wrong          string
	}{
		{"*/5 * * * *", "", 12 * time.Minute, nil, "2026-01-01 00:15 UTC, 2026-01-01 00:20 UTC", 2, ""},
		{"0 9 * * *", "Asia/Tokyo", 0, nil, "2026-01-02 09:00 JST, 2026-01-03 09:00 JST", 0, ""},
		{"30 2 * * *", "Europe/Berlin", 87 * 24 * time.Hour, nil, "2026-03-30 02:30 CEST, 2026-03-31 02:30 CEST", 87, ""}, // on the 29th there is no 02:30
		{"* * * * *", "", 24 * time.Hour, nil, "2026-01-02 00:01 UTC, 2026-01-02 00:02 UTC", 101, ""},
		{"* * * * *", "", 24 * time.Hour, pointer(int64(150)), "2026-01-02 00:01 UTC, 2026-01-02 00:02 UTC", 3, ""},
		{"0 0 31 2 *", "", time.Hour, nil, "", 0, "no day is like that"},
		{"nonsense", "", 0, nil, "", 0, `spec.schedule "nonsense" cannot be read: expected exactly 5 fields, found 1: [nonsense]`},
	} {
		f := newFolding()
		v := cronJob(c.schedule, c.zone)
		v.Spec.StartingDeadlineSeconds = c.deadline
		f.write("x", v, false)
		f.at = c.at
		f.say(trace.Ready, trace.Ref{}, nil)
		s := f.b.Live()
		got := s.Schedule(s.Object("cronjobs", "demo", "tick"), 2)
		var next []string
		for _, at := range got.Next {
			next = append(next, at.Format("2006-01-02 15:04 MST"))
		}
		if strings.Join(next, ", ") != c.next || got.Missed != c.missed || got.Wrong != c.wrong {
			t.Errorf("%q in %q after %v: next %v, missed %d, %q; want %s, %d, %q", c.schedule, c.zone, c.at, next, got.Missed, got.Wrong, c.next, c.missed, c.wrong)
		}
	}
}
