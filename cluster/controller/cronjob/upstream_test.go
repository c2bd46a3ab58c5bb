package cronjob_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientset "k8s.io/client-go/kubernetes"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"
	upstream "k8s.io/kubernetes/pkg/controller/cronjob"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/upstreamtest"
	"kviz/cluster/sim"
)

// wishes are what a controller asks of the API server in one sync.
type wishes []string

func (w *wishes) created(j *batchv1.Job) {
	*w = append(*w, fmt.Sprintf("create %s %v %v %s", j.Name, j.Labels, j.Annotations, j.OwnerReferences[0].Name))
}

func (w *wishes) deleted(name string) { *w = append(*w, "delete "+name) }

// status notes a status without what the server gives a new Job.
func (w *wishes) status(cj *batchv1.CronJob) {
	st := cj.Status.DeepCopy()
	for i := range st.Active {
		st.Active[i].ResourceVersion = ""
		if !strings.HasPrefix(st.Active[i].Name, "old-") {
			st.Active[i].UID = ""
		}
	}
	if len(st.Active) == 0 {
		st.Active = nil
	}
	data, err := json.Marshal(st)
	if err != nil {
		panic(err)
	}
	*w = append(*w, "status "+string(data))
}

// over reports whether the status was written.
func (w wishes) over() bool {
	return slices.ContainsFunc(w, func(s string) bool { return strings.HasPrefix(s, "status ") })
}

// String has each wish once: here a second sync may follow the first.
func (w wishes) String() string {
	slices.Sort(w) // upstream meets the Jobs in any order
	return strings.Join(slices.Compact(w), "\n")
}

// noted is a connection whose writes are noted, until the status is written, which is the
// last of them in a sync.
type noted struct {
	client.Interface
	w *wishes
}

func (n noted) Create(t *sim.Task, r client.Resource, ns string, obj runtime.Object) (runtime.Object, error) {
	if r == client.Jobs && !n.w.over() {
		n.w.created(obj.(*batchv1.Job))
	}
	return n.Interface.Create(t, r, ns, obj)
}

func (n noted) Update(t *sim.Task, r client.Resource, ns string, obj runtime.Object, sub string) (runtime.Object, error) {
	if r == client.CronJobs && !n.w.over() {
		n.w.status(obj.(*batchv1.CronJob))
	}
	return n.Interface.Update(t, r, ns, obj, sub)
}

func (n noted) Delete(t *sim.Task, r client.Resource, ns, name string, opts metav1.DeleteOptions) error {
	if !n.w.over() {
		n.w.deleted(name)
	}
	return n.Interface.Delete(t, r, ns, name, opts)
}

// kube is the connection of upstream's controller.
type kube struct {
	clientset.Interface
	w    *wishes
	jobs map[string]*batchv1.Job
	cron *batchv1.CronJob
	done chan struct{}
}

type (
	core  struct{ coreclient.CoreV1Interface }
	batch struct {
		batchclient.BatchV1Interface
		k *kube
	}
	jobs struct {
		batchclient.JobInterface
		k *kube
	}
	crons struct {
		batchclient.CronJobInterface
		k *kube
	}
)

func (k *kube) CoreV1() coreclient.CoreV1Interface           { return core{} }
func (k *kube) BatchV1() batchclient.BatchV1Interface        { return batch{k: k} }
func (core) Events(string) coreclient.EventInterface         { return upstreamtest.Events{} }
func (b batch) Jobs(string) batchclient.JobInterface         { return jobs{k: b.k} }
func (b batch) CronJobs(string) batchclient.CronJobInterface { return crons{k: b.k} }

func (j jobs) Get(_ context.Context, name string, _ metav1.GetOptions) (*batchv1.Job, error) {
	if job := j.k.jobs[name]; job != nil {
		return job, nil
	}
	return nil, apierrors.NewNotFound(client.Jobs.GroupResource(), name)
}

func (j jobs) Create(_ context.Context, job *batchv1.Job, _ metav1.CreateOptions) (*batchv1.Job, error) {
	j.k.w.created(job)
	job.Namespace = "demo"
	return job, nil
}

func (j jobs) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	j.k.w.deleted(name)
	return nil
}

func (c crons) Get(context.Context, string, metav1.GetOptions) (*batchv1.CronJob, error) {
	return c.k.cron, nil
}

func (c crons) UpdateStatus(_ context.Context, cj *batchv1.CronJob, _ metav1.UpdateOptions) (*batchv1.CronJob, error) {
	if cj.Name == last {
		c.k.done <- struct{}{}
	} else {
		c.k.w.status(cj)
	}
	return cj, nil
}

// last is a CronJob whose status is written after the one that is compared.
const last = "zz-last"

// Of any CronJob and any Jobs of it, both controllers create and delete the same Jobs and
// write the same status.
func TestSyncIsUpstreams(t *testing.T) {
	upstreamtest.Check(t, "150", func(r *rapid.T) {
		s := anySample(r)
		here, there := &wishes{}, &wishes{}
		clienttest.Run(r, 1, func(b *clienttest.Bench, t *sim.Task) {
			s.create(b, t)
			cj := b.Object(client.CronJobs, "demo", "tick").(*batchv1.CronJob).DeepCopy()
			of := b.Objects(client.Jobs)
			now := t.Now()
			p := start(b, noted{b.Client(), here})
			t.Sleep(50 * time.Millisecond)
			p.Kill()
			upstreams(cj, of, now, there)
		})
		if a, b := there.String(), here.String(); a != b {
			r.Fatalf("-upstream +here:\n%s", cmp.Diff(strings.Split(a, "\n"), strings.Split(b, "\n")))
		}
	})
}

// upstreams runs upstream's controller once, at a time.
func upstreams(cj *batchv1.CronJob, of []runtime.Object, now time.Time, w *wishes) {
	k := &kube{w: w, jobs: map[string]*batchv1.Job{}, cron: cj, done: make(chan struct{})}
	jobs, crons := upstreamtest.NewCache(), upstreamtest.NewCache()
	jobs.Hold(of...)
	for _, o := range of {
		k.jobs[o.(*batchv1.Job).Name] = o.(*batchv1.Job)
	}
	yes := true
	end := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: last, UID: last}, Spec: batchv1.CronJobSpec{Suspend: &yes}}
	end.Status.Active = []corev1.ObjectReference{{Namespace: "demo", Name: "none", UID: "none"}}
	crons.Hold(cj, end)
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), klog.Logger{}))
	c, err := upstream.NewControllerV2(ctx, upstreamtest.Jobs{Cache: jobs}, upstreamtest.CronJobs{Cache: crons}, k)
	if err != nil {
		panic(err)
	}
	clock := reflect.ValueOf(c).Elem().FieldByName("now") // there "to facilitate unit tests", of its own package
	reflect.NewAt(clock.Type(), unsafe.Pointer(clock.UnsafeAddr())).Elem().Set(reflect.ValueOf(func() time.Time { return now }))
	crons.Came(cj)
	crons.Came(end)
	ended := make(chan struct{})
	go func() { c.Run(ctx, 1); close(ended) }()
	<-k.done
	cancel()
	<-ended
}

// sample is a CronJob and its Jobs.
type sample struct {
	cj       *batchv1.CronJob
	age      time.Duration
	lastRun  time.Duration // ago; 0 for none
	jobs     []*batchv1.Job
	active   []bool // the status has the Job as active
	vanished bool   // and one that there is not
}

func anySample(r *rapid.T) *sample {
	draw := func(what string, most int) int { return rapid.IntRange(0, most).Draw(r, what) }
	ages := []time.Duration{10 * time.Second, 3 * time.Minute, 2 * time.Hour, 5 * 24 * time.Hour, 400 * 24 * time.Hour}
	s := &sample{cj: tick(nil), age: rapid.SampledFrom(ages).Draw(r, "age") + time.Duration(draw("seconds", 3600))*time.Second, vanished: draw("vanished", 3) == 0}
	if i := draw("last run", len(ages)); i > 0 {
		s.lastRun = min(ages[i-1]+time.Duration(draw("more seconds", 3600))*time.Second, s.age)
	}
	spec := &s.cj.Spec
	spec.Schedule = rapid.SampledFrom([]string{
		"* * * * *", "*/5 * * * *", "0 * * * *", "30 6-16/4 * * 1-5", "@hourly", "@every 1h", "59 23 31 2 *", "15 3 * * *", "0 0 1 * *", "bad", "TZ=Europe/Berlin 0 4 * * *",
	}).Draw(r, "schedule")
	if n := draw("zone", 5); n < 3 {
		spec.TimeZone = &[]string{"Europe/Berlin", "America/New_York", "Nowhere/Never"}[n]
	}
	if n := draw("deadline", 7); n < 4 {
		spec.StartingDeadlineSeconds = &[]int64{0, 10, 200, 100000}[n]
	}
	spec.ConcurrencyPolicy = rapid.SampledFrom([]batchv1.ConcurrencyPolicy{batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent}).Draw(r, "policy")
	if draw("suspend", 9) == 0 {
		yes := true
		spec.Suspend = &yes
	}
	limits := []*int32{nil, number(0), number(1), number(3)}
	spec.SuccessfulJobsHistoryLimit, spec.FailedJobsHistoryLimit = limits[draw("successful", 3)], limits[draw("failed", 3)]
	if draw("deleted", 9) == 0 {
		s.cj.Finalizers, s.cj.DeletionTimestamp = []string{"example.com/hold"}, &metav1.Time{Time: time.Unix(1, 0)}
	}
	spec.JobTemplate.Labels = map[string]string{"app": "tick"}
	for i := range draw("jobs", 5) {
		j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: fmt.Sprint("old-", i)}}
		at := metav1.Unix(int64(1000+i/2), 0)
		if draw(fmt.Sprint("started ", i), 4) > 0 {
			j.Status.StartTime = &at
		}
		switch draw(fmt.Sprint("ended ", i), 2) {
		case 0:
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
			if i > 0 { // else which of them is taken first depends on the order
				done := metav1.Unix(int64(2000+i), 0)
				j.Status.CompletionTime = &done
			}
		case 1:
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
		}
		s.jobs, s.active = append(s.jobs, j), append(s.active, draw(fmt.Sprint("active ", i), 1) == 0)
	}
	return s
}

// create makes the CronJob, lets it grow old, and makes its Jobs.
func (s *sample) create(b *clienttest.Bench, t *sim.Task) {
	c := b.Client()
	cj := clienttest.Must(client.Create(t, c, client.CronJobs, "demo", s.cj))
	t.Sleep(s.age)
	for i, j := range s.jobs {
		j.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(cj, client.CronJobs.GVK())}
		j = clienttest.Must(client.Create(t, c, client.Jobs, "demo", j))
		if s.active[i] {
			cj.Status.Active = append(cj.Status.Active, corev1.ObjectReference{Kind: "Job", Namespace: "demo", Name: j.Name, UID: j.UID, APIVersion: "batch/v1"})
		}
	}
	if s.vanished {
		cj.Status.Active = append(cj.Status.Active, corev1.ObjectReference{Kind: "Job", Namespace: "demo", Name: "old-none", UID: types.UID("none"), APIVersion: "batch/v1"})
	}
	if s.lastRun > 0 {
		cj.Status.LastScheduleTime = &metav1.Time{Time: t.Now().Add(-s.lastRun).Truncate(time.Minute)}
	}
	clienttest.Must(client.UpdateStatus(t, c, client.CronJobs, "demo", cj))
}
