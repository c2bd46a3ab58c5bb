package job_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientset "k8s.io/client-go/kubernetes"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller"
	upstream "k8s.io/kubernetes/pkg/controller/job"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/job"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/upstreamtest"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// wishes are what a controller asks of the API server in one sync.
type wishes struct {
	sync.Mutex
	pods     []string // created, patched, deleted, and the Events: in no order
	statuses []string // in order
}

func (w *wishes) pod(format string, args ...any) {
	w.Lock()
	defer w.Unlock()
	w.pods = append(w.pods, fmt.Sprintf(format, args...))
}

func (w *wishes) created(p *corev1.Pod) {
	w.pod("create %s %v %v %v %s %d", p.GenerateName, p.Labels, p.Annotations, p.Finalizers, p.Spec.Hostname, len(p.Spec.Containers[0].Env))
}

// event notes an Event without what a new pod is called.
func (w *wishes) event(kind, reason, message string) {
	if reason == "SuccessfulCreate" {
		message = message[:strings.Index(message, ":")]
	}
	if reason == batchv1.JobReasonPodFailurePolicy {
		message = "" // of the pod that was met first
	}
	w.pod("event %s %s %s", kind, reason, message)
}

// recorder notes upstream's Events.
type recorder struct {
	record.EventRecorder
	w *wishes
}

func (r recorder) Event(obj runtime.Object, kind, reason, message string) {
	if obj.(*batchv1.Job).Name != last {
		r.w.event(kind, reason, message)
	}
}

func (r recorder) Eventf(obj runtime.Object, kind, reason, format string, args ...any) {
	r.Event(obj, kind, reason, fmt.Sprintf(format, args...))
}

// status notes a status without what differs from run to run upstream: times, and the
// order in which pods were met.
func (w *wishes) status(j *batchv1.Job) {
	st := j.Status.DeepCopy()
	for i := range st.Conditions {
		c := &st.Conditions[i]
		c.LastProbeTime, c.LastTransitionTime = metav1.Time{}, metav1.Time{}
		if c.Reason == batchv1.JobReasonPodFailurePolicy {
			c.Message = "" // of the pod that was met first
		}
	}
	for _, at := range []**metav1.Time{&st.StartTime, &st.CompletionTime} {
		if *at != nil {
			*at = &metav1.Time{Time: time.Unix(1, 0)}
		}
	}
	if un := st.UncountedTerminatedPods; un != nil {
		slices.Sort(un.Succeeded)
		slices.Sort(un.Failed)
	}
	data, err := json.Marshal(st)
	if err != nil {
		panic(err)
	}
	w.Lock()
	defer w.Unlock()
	w.statuses = append(w.statuses, string(data))
}

// String has each wish for pods once: here a pod may be freed a second time, in answer to
// the status, which upstream's controller does not get to see.
func (w *wishes) String() string {
	slices.Sort(w.pods)
	return strings.Join(append(slices.Compact(w.pods), w.statuses...), "\n")
}

// noted is a connection whose writes are noted.
type noted struct {
	client.Interface
	w *wishes
}

func (n noted) Create(t *sim.Task, r client.Resource, ns string, obj runtime.Object) (runtime.Object, error) {
	if r == client.Pods {
		n.w.created(obj.(*corev1.Pod))
	}
	return n.Interface.Create(t, r, ns, obj)
}

func (n noted) Update(t *sim.Task, r client.Resource, ns string, obj runtime.Object, sub string) (runtime.Object, error) {
	if r == client.Jobs {
		n.w.status(obj.(*batchv1.Job))
	}
	return n.Interface.Update(t, r, ns, obj, sub)
}

func (n noted) Patch(t *sim.Task, r client.Resource, ns, name string, pt types.PatchType, data []byte, sub string) (runtime.Object, error) {
	if r == client.Pods {
		n.w.pod("patch %s", name)
	}
	return n.Interface.Patch(t, r, ns, name, pt, data, sub)
}

func (n noted) Delete(t *sim.Task, r client.Resource, ns, name string, opts metav1.DeleteOptions) error {
	n.w.pod("delete %s", name)
	return n.Interface.Delete(t, r, ns, name, opts)
}

// kube is the connection of upstream's controller.
type kube struct {
	clientset.Interface
	w           *wishes
	job         *batchv1.Job
	done, freed chan struct{}
}

type (
	core struct {
		coreclient.CoreV1Interface
		k *kube
	}
	batch struct {
		batchclient.BatchV1Interface
		k *kube
	}
	jobs struct {
		batchclient.JobInterface
		k *kube
	}
)

func (k *kube) CoreV1() coreclient.CoreV1Interface    { return core{k: k} }
func (k *kube) BatchV1() batchclient.BatchV1Interface { return batch{k: k} }
func (core) Events(string) coreclient.EventInterface  { return upstreamtest.Events{} }
func (b batch) Jobs(string) batchclient.JobInterface  { return jobs{k: b.k} }
func (c core) Pods(string) coreclient.PodInterface {
	return upstreamtest.PodWrites{
		Created: c.k.w.created,
		Patched: func(name string) {
			if name == last {
				c.k.freed <- struct{}{}
				return
			}
			c.k.w.pod("patch %s", name)
		},
		Gone: func(name string) { c.k.w.pod("delete %s", name) },
	}
}

func (j jobs) Get(context.Context, string, metav1.GetOptions) (*batchv1.Job, error) {
	return j.k.job, nil
}

func (j jobs) UpdateStatus(_ context.Context, job *batchv1.Job, _ metav1.UpdateOptions) (*batchv1.Job, error) {
	if job.Name == last {
		j.k.done <- struct{}{}
	} else {
		j.k.w.status(job)
	}
	return job, nil
}

// last is a Job whose status is written after the one that is compared, and a pod without
// a Job whose finalizer is taken away after those of others like it.
const last = "zz-last"

// Of any Job and any pods, both controllers create, free and delete the same pods, write
// the same statuses, and record the same Events.
func TestSyncIsUpstreams(t *testing.T) {
	upstreamtest.Check(t, "100", func(r *rapid.T) {
		j, pods := anyJob(r), anyPods(r)
		uncounted := rapid.SliceOfN(rapid.IntRange(0, 3), len(pods), len(pods)).Draw(r, "uncounted")
		here, there := &wishes{}, &wishes{}
		clienttest.Run(r, 1, func(b *clienttest.Bench, t *sim.Task) {
			create(b, t, j, pods, uncounted)
			was := b.Object(client.Jobs, "demo", "once").(*batchv1.Job).DeepCopy()
			var of []*corev1.Pod
			for _, o := range b.Objects(client.Pods) {
				of = append(of, o.(*corev1.Pod).DeepCopy())
			}
			p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
			f := informer.NewFactory(p, p.Lane, b.Client())
			job.New(reconcile.NewEnv(p, job.Name, job.Name, noted{b.Client(), here}, f, 1)).Start()
			f.Start()
			now := t.Now()
			t.Sleep(500 * time.Millisecond)
			p.Kill()
			for _, e := range b.Events {
				if p, ok := e.Payload.(*trace.KubeEvent); ok && e.Kind == trace.EventRecorded {
					here.event(p.Type, p.Reason, p.Message)
				}
			}
			upstreams(t, was, of, now, there)
		})
		if a, b := there.String(), here.String(); a != b {
			r.Fatalf("-upstream +here:\n%s", cmp.Diff(strings.Split(a, "\n"), strings.Split(b, "\n")))
		}
	})
}

// upstreams runs upstream's controller, which reads the machine's clock, once; now is the
// time that the objects are from.
func upstreams(_ *sim.Task, j *batchv1.Job, list []*corev1.Pod, now time.Time, w *wishes) {
	shift := time.Since(now)
	move := func(at *metav1.Time) {
		if at != nil && !at.IsZero() {
			*at = metav1.NewTime(at.Add(shift))
		}
	}
	move(j.Status.StartTime)
	jobs, pods := upstreamtest.NewCache(), upstreamtest.NewCache()
	var objs []runtime.Object
	for _, p := range list {
		move(&p.CreationTimestamp)
		move(p.DeletionTimestamp)
		for i := range p.Status.Conditions {
			move(&p.Status.Conditions[i].LastTransitionTime)
		}
		for i := range p.Status.ContainerStatuses {
			if t := p.Status.ContainerStatuses[i].State.Terminated; t != nil {
				move(&t.FinishedAt)
			}
		}
		objs = append(objs, p)
	}
	bare := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: last, Finalizers: []string{batchv1.JobTrackingFinalizer}}}
	objs = append(objs, bare)
	pods.Hold(objs...)
	yes := true
	end := once(func(s *batchv1.JobSpec) {
		s.Suspend, s.Selector = &yes, &metav1.LabelSelector{MatchLabels: map[string]string{"job": last}}
	})
	end.Name, end.UID = last, last
	jobs.Hold(j, end)
	k := &kube{w: w, job: j, done: make(chan struct{}), freed: make(chan struct{})}
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), klog.Logger{}))
	c, err := upstream.NewController(ctx, k, upstreamtest.Pods{Cache: pods}, upstreamtest.Jobs{Cache: jobs}, nil, nil)
	if err != nil {
		panic(err)
	}
	*upstreamtest.Field[record.EventRecorder](c, "recorder") = recorder{w: w}
	*upstreamtest.Field[controller.PodControlInterface](c, "podControl") = controller.RealPodControl{KubeClient: k, Recorder: recorder{w: w}}
	jobs.Came(j)
	jobs.Came(end)
	for _, p := range objs {
		pods.Came(p)
	}
	ended := make(chan struct{})
	go func() { c.Run(ctx, 1); close(ended) }()
	<-k.done
	<-k.freed
	cancel()
	<-ended
}

func anyJob(r *rapid.T) *batchv1.Job {
	draw := func(what string, most int) int32 { return int32(rapid.IntRange(0, most).Draw(r, what)) }
	maybe := func(what string, odds, most int) *int32 {
		if draw(what+"?", odds) > 0 {
			return nil
		}
		return number(draw(what, most))
	}
	j := once(nil)
	s := &j.Spec
	s.Parallelism, s.BackoffLimit, s.Completions = number(draw("parallelism", 4)), number(draw("backoffLimit", 3)), maybe("completions", 2, 5)
	if draw("indexed", 1) == 0 {
		mode := batchv1.IndexedCompletion
		s.CompletionMode, s.Completions = &mode, number(draw("completions", 5))
		s.BackoffLimitPerIndex = maybe("backoffLimitPerIndex", 1, 2)
		if s.BackoffLimitPerIndex != nil {
			s.MaxFailedIndexes = maybe("maxFailedIndexes", 1, 2)
			s.BackoffLimit = number(100)
			j.Status.FailedIndexes = rapid.SampledFrom([]*string{nil, ref(""), ref("1"), ref("0,2-3")}).Draw(r, "failedIndexes")
		}
		if draw("successPolicy", 2) == 0 {
			s.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{
				{SucceededIndexes: rapid.SampledFrom([]*string{ref("0"), ref("1-3"), ref("0,2")}).Draw(r, "indexes"), SucceededCount: maybe("of them", 1, 2)},
				{SucceededCount: number(1 + draw("any", 2))},
			}[draw("rule", 1):]}
		}
		j.Status.CompletedIndexes = rapid.SampledFrom([]string{"", "0", "1-2", "0,3"}).Draw(r, "completedIndexes")
	}
	if draw("policy", 2) == 0 {
		actions := []batchv1.PodFailurePolicyAction{batchv1.PodFailurePolicyActionIgnore, batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailJob}
		if s.BackoffLimitPerIndex != nil {
			actions = append(actions, batchv1.PodFailurePolicyActionFailIndex)
		}
		action := func(of string) batchv1.PodFailurePolicyAction { return rapid.SampledFrom(actions).Draw(r, of) }
		s.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
			{Action: action("of a code"), OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
				Operator: rapid.SampledFrom([]batchv1.PodFailurePolicyOnExitCodesOperator{batchv1.PodFailurePolicyOnExitCodesOpIn, batchv1.PodFailurePolicyOnExitCodesOpNotIn}).Draw(r, "operator"), Values: []int32{1},
			}},
			{Action: action("of a condition"), OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}},
		}}
	}
	if draw("replacement", 2) == 0 {
		failed := batchv1.Failed
		s.PodReplacementPolicy = &failed
	}
	if draw("restart", 2) == 0 {
		s.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	}
	if n := draw("suspend", 7); n < 2 {
		yes := n == 0
		s.Suspend = &yes
	}
	if n := draw("deadline", 5); n < 2 {
		limit := []int64{10, 1 << 30}[n]
		s.ActiveDeadlineSeconds = &limit
	}
	st := &j.Status
	st.Failed, st.Active, st.Ready, st.Terminating = draw("failed", 2), draw("active", 3), maybe("ready", 1, 2), maybe("terminating", 1, 2)
	if s.CompletionMode == nil {
		st.Succeeded = draw("succeeded", 3)
	}
	if draw("started", 2) > 0 {
		st.StartTime = &metav1.Time{}
	}
	if draw("condition", 2) == 0 {
		st.Conditions = []batchv1.JobCondition{{
			Type:   rapid.SampledFrom([]batchv1.JobConditionType{batchv1.JobSuspended, batchv1.JobSuspended, batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget}).Draw(r, "type"),
			Status: rapid.SampledFrom([]corev1.ConditionStatus{"True", "True", "False"}).Draw(r, "status"), Reason: "Before", Message: "as it was",
		}}
	}
	if draw("deleted", 9) == 0 {
		j.Finalizers, j.DeletionTimestamp = []string{"example.com/hold"}, &metav1.Time{Time: time.Unix(1, 0)}
	}
	return j
}

func ref(s string) *string { return &s }

// anyPods are pods whose times are those of seconds before what they get in create.
func anyPods(r *rapid.T) (out []*corev1.Pod) {
	// They end long ago, or in what upstream must take for the future, so that however slow
	// the machine is both find the same time left; one after the other, and those of an
	// index that end later have failed more often: else upstream, which meets them in any
	// order, does not always choose the same one.
	end := int64(-100000)
	if rapid.Bool().Draw(r, "lately") {
		end = 1000
	}
	ignored := rapid.Bool().Draw(r, "ignored")
	for i := range rapid.IntRange(0, 7).Draw(r, "pods") {
		draw := func(what string, most int) int { return rapid.IntRange(0, most).Draw(r, fmt.Sprint(what, " ", i)) }
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: fmt.Sprint("once-", i), Labels: map[string]string{"job": "once"}, Annotations: map[string]string{}}}
		if draw("tracked", 4) > 0 {
			p.Finalizers = []string{batchv1.JobTrackingFinalizer}
		}
		switch draw("owner", 9) {
		case 0: // an orphan
		case 1:
			p.Labels["job"] = "other"
			fallthrough
		default:
			p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "once"}}, client.Jobs.GVK())}
		}
		if index := draw("index", 8); index < 7 {
			p.Annotations[batchv1.JobCompletionIndexAnnotation] = fmt.Sprint(index)
		} else if index == 7 {
			p.Annotations[batchv1.JobCompletionIndexAnnotation] = "-1"
		}
		p.Annotations[batchv1.JobIndexFailureCountAnnotation] = fmt.Sprint(i / 2)
		if ignored {
			p.Annotations[batchv1.JobIndexIgnoredFailureCountAnnotation] = "1"
		}
		state := corev1.ContainerStatus{Name: "c", RestartCount: int32(draw("restarts", 6) / 5)}
		p.Status.Phase = rapid.SampledFrom([]corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed, corev1.PodFailed}).Draw(r, fmt.Sprint("phase ", i))
		if p.Status.Phase != corev1.PodPending {
			p.Spec.NodeName = "node-1"
		}
		switch p.Status.Phase {
		case corev1.PodRunning:
			if draw("ready", 2) > 0 {
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			}
		case corev1.PodSucceeded, corev1.PodFailed:
			code := int32(0)
			if p.Status.Phase == corev1.PodFailed {
				code = int32(1 + draw("code", 1))
			}
			state.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.Unix(end+int64(i), 0)}
		}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{state}
		if draw("disrupted", 4) == 0 {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue})
		}
		if draw("deleted", 5) == 0 {
			p.DeletionTimestamp = &metav1.Time{Time: time.Unix(end+int64(i)+30, 0)}
			grace := int64(30)
			p.DeletionGracePeriodSeconds = &grace
		}
		out = append(out, p)
	}
	return out
}

// create makes the Job and its pods, each a second younger than the one before. uncounted
// says which pods the status has as succeeded (1) or failed (2).
func create(b *clienttest.Bench, t *sim.Task, j *batchv1.Job, pods []*corev1.Pod, uncounted []int) {
	c, start := b.Client(), t.Now()
	from := func(at metav1.Time) metav1.Time {
		return metav1.NewTime(start.Add(time.Duration(at.Unix()) * time.Second))
	}
	uid := types.UID("")
	un := &batchv1.UncountedTerminatedPods{}
	if j.Status.StartTime != nil {
		j.Status.StartTime = &metav1.Time{Time: start.Add(-time.Hour)}
	}
	made := clienttest.Must(client.Create(t, c, client.Jobs, "demo", j))
	uid = made.UID
	for i, p := range pods {
		for k := range p.OwnerReferences {
			p.OwnerReferences[k].UID = uid
		}
		for k := range p.Status.ContainerStatuses {
			if term := p.Status.ContainerStatuses[k].State.Terminated; term != nil {
				term.FinishedAt = from(term.FinishedAt)
			}
		}
		if p.DeletionTimestamp != nil {
			at := from(*p.DeletionTimestamp)
			p.DeletionTimestamp = &at
		}
		for k := range p.Status.Conditions {
			p.Status.Conditions[k].LastTransitionTime = metav1.NewTime(start.Add(time.Duration(i) * time.Second))
		}
		t.Sleep(time.Second)
		p = clienttest.Must(client.Create(t, c, client.Pods, "demo", p))
		switch uncounted[i] {
		case 1:
			un.Succeeded = append(un.Succeeded, p.UID)
		case 2:
			un.Failed = append(un.Failed, p.UID)
		}
	}
	made.Status.UncountedTerminatedPods = un
	clienttest.Must(client.UpdateStatus(t, c, client.Jobs, "demo", made))
}
