package devicetainteviction_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	upstream "k8s.io/kubernetes/pkg/controller/devicetainteviction"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/devicetainteviction"
	"kviz/cluster/controller/upstreamtest"
	"kviz/cluster/sim"
)

// api is a cluster's API, as a story needs it.
type api interface {
	objects(r client.Resource) []runtime.Object // copies
	create(r client.Resource, obj runtime.Object)
	update(r client.Resource, obj runtime.Object) // spec, metadata and status
	remove(r client.Resource, name string)        // a finalizer keeps it
	began() time.Time
	until(after time.Duration)
}

// act is one thing that happens in a story.
type act struct {
	what  string
	n     int
	with  []int // as many numbers as the act likes
	pause time.Duration
}

func (a *act) num(i, below int) int { return a.with[i%len(a.with)] % below }

var acts = []string{
	"slice", "slice", "slice", "no slice", "rule", "rule", "rule", "no rule", "no rule", "respec", "allocate", "allocate", "allocate", "claim", "no claim", "free", "reserve", "unreserve",
	"pod", "pod", "pod", "no pod", "ends", "node", "names", "wait",
}

// beat is the time between two instants at which pods can be due: in seconds, and prime to the 10 between two writes of a
// status. Acts come 5.36 or 7.36 s after one of them, and never 10 s after one another. So nothing falls due at the same
// instant as something else, the order of which would be anybody's.
const beat = 11

// anyStory begins with pods that have devices, most of them on nodes.
func anyStory(r *rapid.T) (story []act) {
	add := func(what string, n int, pause time.Duration) {
		story = append(story, act{what, n, rapid.SliceOfN(rapid.IntRange(0, 59), 24, 24).Draw(r, what), pause})
	}
	for n := range 3 {
		add("pod", n, 10*time.Millisecond)
	}
	for n := range 3 {
		add("allocate", n, 10*time.Millisecond)
	}
	late := 0
	for range rapid.IntRange(3, 20).Draw(r, "acts") {
		pause := rapid.SampledFrom([]int{0, 1, 1, 1, 2, 2, 4}).Draw(r, "beats")*beat - late
		late = 2 * rapid.IntRange(0, 1).Draw(r, "late")
		if pause += late; pause <= 0 {
			pause += beat
		}
		add(rapid.SampledFrom(acts).Draw(r, "act"), rapid.IntRange(0, 2).Draw(r, "which"), time.Duration(pause)*time.Second)
	}
	return story
}

func find[T runtime.Object](a api, r client.Resource, name string) (none T, _ bool) {
	for _, o := range a.objects(r) {
		if o.(metav1.Object).GetName() == name {
			return o.(T), true
		}
	}
	return none, false
}

func (a *act) taint(i int, began time.Time) resourcev1.DeviceTaint {
	effects := []resourcev1.DeviceTaintEffect{"NoExecute", "NoExecute", "NoExecute", "NoSchedule", "None"}
	return resourcev1.DeviceTaint{
		Key: []string{"fan", "worn"}[a.num(i, 2)], Value: []string{"", "a"}[a.num(i+1, 2)], Effect: effects[a.num(i+2, len(effects))],
		TimeAdded: ptr.To(metav1.NewTime(began.Add(time.Duration(a.num(i+3, 20)) * beat * time.Second))),
	}
}

func (a *act) rule(n int, began time.Time) *resourcev1.DeviceTaintRule {
	r := &resourcev1.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("rule-", n)}}
	r.Spec.Taint = a.taint(0, began)
	if a.num(4, 6) == 0 {
		return r // it selects nothing
	}
	s := &resourcev1.DeviceTaintSelector{}
	if a.num(5, 2) == 0 {
		s.Driver = ptr.To([]string{driver, driver, "other"}[a.num(6, 3)])
	}
	if a.num(7, 2) == 0 {
		s.Pool = ptr.To(fmt.Sprint("pool-", a.num(8, 2)))
	}
	if a.num(9, 2) == 0 {
		s.Device = ptr.To(fmt.Sprint("gpu-", a.num(10, 6)))
	}
	r.Spec.DeviceSelector = s
	return r
}

// slice is one of a pool; the devices of each are its own.
func (a *act) slice(began time.Time) *resourcev1.ResourceSlice {
	s := slice()
	s.Name, s.Spec.Pool = fmt.Sprint("slice-", a.n), resourcev1.ResourcePool{Name: fmt.Sprint("pool-", a.n/2), Generation: int64(a.num(0, 3)), ResourceSliceCount: 1}
	for i := range a.num(1, 3) {
		d := resourcev1.Device{Name: fmt.Sprint("gpu-", 2*a.n+i)}
		for j := range a.num(2+i, 3) {
			d.Taints = append(d.Taints, a.taint(4+8*i+4*j, began))
		}
		s.Spec.Devices = append(s.Spec.Devices, d)
	}
	return s
}

func (a *act) allocation() *resourcev1.AllocationResult {
	is := &resourcev1.AllocationResult{}
	for i := range 1 + a.num(0, 2) {
		n := a.num(1+i, 6)
		d := resourcev1.DeviceRequestAllocationResult{Request: "gpu", Driver: driver, Pool: fmt.Sprint("pool-", n/4), Device: fmt.Sprint("gpu-", n)}
		for j := range a.num(3+i, 3) {
			at := 5 + 6*i + 3*j
			tol := resourcev1.DeviceToleration{Operator: resourcev1.DeviceTolerationOpExists, Effect: []resourcev1.DeviceTaintEffect{"NoExecute", "NoExecute", "NoExecute", "", "NoSchedule"}[a.num(at, 5)]}
			switch a.num(at+1, 3) {
			case 0:
				tol.Key = "fan"
			case 1:
				tol.Key, tol.Operator, tol.Value = "worn", resourcev1.DeviceTolerationOpEqual, "a"
			}
			if k := a.num(at+2, 5); k > 0 {
				tol.TolerationSeconds = ptr.To(int64([]int{-5, beat, 3 * beat, 9 * beat}[k-1]))
			}
			d.Tolerations = append(d.Tolerations, tol)
		}
		is.Devices.Results = append(is.Devices.Results, d)
	}
	return is
}

// reserve reserves a claim for those pods of which want has the numbers' bits.
func reserve(w api, claim *resourcev1.ResourceClaim, want int) {
	claim.Status.ReservedFor = nil
	for i, o := range w.objects(client.Pods) {
		if p := o.(*corev1.Pod); want&(1<<i) != 0 {
			claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: p.Name, UID: p.UID})
		}
	}
	if want&8 != 0 {
		claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: "pod-0", UID: "of-another"})
	}
}

// do does what happens; a pod has one claim, or two.
func (a *act) do(w api, single bool) {
	name := func(kind string) string { return fmt.Sprint(kind, "-", a.n) }
	switch a.what {
	case "slice":
		if is, ok := find[*resourcev1.ResourceSlice](w, client.ResourceSlices, name("slice")); ok {
			is.Spec = a.slice(w.began()).Spec
			w.update(client.ResourceSlices, is)
		} else {
			w.create(client.ResourceSlices, a.slice(w.began()))
		}
	case "no slice":
		w.remove(client.ResourceSlices, name("slice"))
	case "rule", "respec":
		n := a.n % 2
		if is, ok := find[*resourcev1.DeviceTaintRule](w, client.DeviceTaintRules, fmt.Sprint("rule-", n)); ok {
			is.Spec = a.rule(n, w.began()).Spec
			w.update(client.DeviceTaintRules, is)
		} else {
			w.create(client.DeviceTaintRules, a.rule(n, w.began()))
		}
	case "no rule":
		w.remove(client.DeviceTaintRules, fmt.Sprint("rule-", a.n%2))
	case "claim", "allocate":
		is, ok := find[*resourcev1.ResourceClaim](w, client.ResourceClaims, name("claim"))
		if ok && is.Status.Allocation != nil {
			return // it stays as it is
		}
		if !ok {
			is = &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name("claim")}}
		}
		if a.what == "allocate" {
			is.Status.Allocation = a.allocation()
			reserve(w, is, 7&^a.num(20, 8)|a.num(21, 60)/55*8)
		}
		if ok {
			w.update(client.ResourceClaims, is)
			return
		}
		if a.num(22, 2) == 0 { // made for a pod
			if p, ok := find[*corev1.Pod](w, client.Pods, fmt.Sprint("pod-", a.num(23, 3))); ok {
				is.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: p.Name, UID: p.UID, Controller: ptr.To(true)}}
			}
		}
		w.create(client.ResourceClaims, is)
	case "no claim":
		w.remove(client.ResourceClaims, name("claim"))
	case "free", "reserve", "unreserve":
		is, ok := find[*resourcev1.ResourceClaim](w, client.ResourceClaims, name("claim"))
		if !ok {
			return
		}
		switch a.what {
		case "free":
			is.Status.Allocation = nil
		case "reserve":
			reserve(w, is, 15)
		case "unreserve":
			reserve(w, is, a.num(0, 16))
		}
		w.update(client.ResourceClaims, is)
	case "pod":
		if _, ok := find[*corev1.Pod](w, client.Pods, name("pod")); !ok {
			p := pod(name("pod"), fmt.Sprint("claim-", a.num(0, 3)))
			if made := (corev1.PodResourceClaim{Name: "made", ResourceClaimTemplateName: ptr.To("template")}); !single {
				p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, made)
			} else if a.num(5, 3) == 2 {
				p.Spec.ResourceClaims[0] = made
			}
			if a.num(1, 3) > 0 {
				p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "made", ResourceClaimName: ptr.To(fmt.Sprint("claim-", a.num(2, 3)))}}
			}
			if a.num(3, 8) == 7 {
				p.Spec.NodeName = ""
			}
			if a.num(4, 4) == 3 {
				p.Finalizers = []string{"example.com/stay"}
			}
			w.create(client.Pods, p)
			return
		}
		// What the scheduler would do; one write alone, for two at the same instant race with the worker.
		if is, ok := find[*resourcev1.ResourceClaim](w, client.ResourceClaims, fmt.Sprint("claim-", a.num(0, 3))); ok && is.Status.Allocation != nil {
			reserve(w, is, 7)
			w.update(client.ResourceClaims, is)
		}
	case "no pod":
		w.remove(client.Pods, name("pod"))
	case "ends":
		if p, ok := find[*corev1.Pod](w, client.Pods, name("pod")); ok && p.DeletionTimestamp != nil {
			p.Finalizers = nil
			w.update(client.Pods, p)
		}
	case "node":
		if p, ok := find[*corev1.Pod](w, client.Pods, name("pod")); ok && p.Spec.NodeName == "" {
			p.Spec.NodeName = "node-2"
			w.update(client.Pods, p)
		}
	case "names":
		if p, ok := find[*corev1.Pod](w, client.Pods, name("pod")); ok {
			p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "made", ResourceClaimName: ptr.To(fmt.Sprint("claim-", a.num(0, 3)))}}
			w.update(client.Pods, p)
		}
	}
}

// play does what happens in a story and gives what there is after each act. Whether the eviction of a pod with two
// claims is cancelled and then planned again, where one of them ends to be a reason and the other begins, depends
// on which of the two upstream finds first in a map: that it was cancelled is left out of such stories. So it is of
// a pod that was deleted and stays for its finalizer: whether upstream plans its deletion once more depends on whether
// it hears of the first one from its watch before the answer to its request.
func play(w api, story []act) string {
	var out strings.Builder
	single := story[0].with[6]%2 == 0
	at := 5300 * time.Millisecond // so that what takes some milliseconds here happens within the same second
	w.until(at)
	for i := range story {
		story[i].do(w, single)
		at += story[i].pause
		w.until(at)
		fmt.Fprintf(&out, "%s %d, %s:\n%s\n", story[i].what, story[i].n, at, text(w, single))
	}
	at += time.Minute
	w.until(at)
	return out.String() + text(w, single)
}

// text is what there is.
func text(w api, single bool) string {
	var lines []string
	for _, o := range w.objects(client.Pods) {
		p := o.(*corev1.Pod)
		line := fmt.Sprint(p.Name, " deleted ", p.DeletionTimestamp != nil)
		for _, c := range p.Status.Conditions {
			line += fmt.Sprint(" ", c.Type, c.Status, c.Reason, c.Message, c.ObservedGeneration, c.LastTransitionTime.Sub(w.began()))
		}
		lines = append(lines, line)
	}
	for _, o := range w.objects(client.DeviceTaintRules) {
		r := o.(*resourcev1.DeviceTaintRule)
		line := r.Name
		for _, c := range r.Status.Conditions {
			line += fmt.Sprint(" ", c.Type, c.Status, c.Reason, " ", c.Message, " ", c.ObservedGeneration, " ", c.LastTransitionTime.Sub(w.began()))
		}
		lines = append(lines, line)
	}
	events := w.objects(client.Events)
	going := map[string]bool{} // pods of that name
	for _, o := range events {
		if e := o.(*corev1.Event); e.Message == "Marking for deletion" {
			going[e.InvolvedObject.Name] = true
		}
	}
	for _, o := range w.objects(client.Pods) {
		if p := o.(*corev1.Pod); p.DeletionTimestamp != nil {
			going[p.Name] = true
		}
	}
	for _, o := range events {
		e := o.(*corev1.Event)
		if e.Message == "Cancelling deletion" && (!single || going[e.InvolvedObject.Name]) {
			continue
		}
		lines = append(lines, fmt.Sprint(e.InvolvedObject.Kind, e.InvolvedObject.APIVersion, e.InvolvedObject.Name, e.Type, e.Reason, e.Message, e.Count, e.Source.Component))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// In any story of slices, rules, claims, pods and time both controllers delete the same pods at the same
// second, give them the same condition, tell the same Events, and write the same status into rules.
func TestEvictionsAreUpstreams(tt *testing.T) {
	evicted, pending, cancelled := 0, 0, 0 // so that the stories are about something
	upstreamtest.Check(tt, "150", func(r *rapid.T) {
		story := anyStory(r)
		var here, there string
		clienttest.Run(r, 1, func(b *clienttest.Bench, t *sim.Task) {
			start(b)
			here = play(ours{b, t}, story)
		})
		upstreamtest.Bubble(tt, nil, func(_ context.Context, c *fake.Clientset, f informers.SharedInformerFactory) func(context.Context) {
			c.PrependReactor("delete", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) { // as an API server does
				o := a.(clienttesting.DeleteAction)
				obj, err := c.Tracker().Get(o.GetResource(), o.GetNamespace(), o.GetName())
				p, ok := obj.(*corev1.Pod)
				if err != nil || !ok || len(p.Finalizers) == 0 {
					return false, nil, nil
				}
				p.DeletionTimestamp = ptr.To(metav1.Now())
				return true, nil, c.Tracker().Update(o.GetResource(), p, o.GetNamespace())
			})
			events := 0 // each has a name of its own, which on a real clock no two of an instant share
			c.PrependReactor("create", "events", func(a clienttesting.Action) (bool, runtime.Object, error) {
				events++
				a.(clienttesting.CreateAction).GetObject().(*corev1.Event).Name += fmt.Sprint("-", events)
				return false, nil, nil
			})
			of := f.Resource().V1()
			controller := upstream.New(c, f.Core().V1().Pods(), of.ResourceClaims(), of.ResourceSlices(), of.DeviceTaintRules(), of.DeviceClasses(), devicetainteviction.Name)
			return func(ctx context.Context) { _ = controller.Run(ctx, 1) }
		}, func(ctx context.Context, c *fake.Clientset) {
			there = play(&theirs{ctx: ctx, c: c, start: time.Now()}, story)
		})
		if diff := cmp.Diff(strings.Split(there, "\n"), strings.Split(here, "\n")); diff != "" {
			r.Fatalf("-upstream +here:\n%s", diff)
		}
		end := here[strings.LastIndex(here, ":\n"):]
		evicted += strings.Count(end, "Marking for deletion")
		if strings.Contains(here, "Cancelling deletion") {
			cancelled++
		}
		if strings.Contains(here, "PodsPendingEviction") {
			pending++
		}
	})
	tt.Logf("%d pods were evicted, in %d stories one was not evicted after all, and in %d a rule had pods to evict", evicted, cancelled, pending)
	if evicted == 0 || pending == 0 || cancelled == 0 {
		tt.Error("these stories say nothing")
	}
}

type ours struct {
	b *clienttest.Bench
	t *sim.Task
}

func (o ours) objects(r client.Resource) (all []runtime.Object) {
	for _, obj := range o.b.Objects(r) {
		all = append(all, obj.DeepCopyObject())
	}
	return all
}

func namespace(r client.Resource) string {
	if r.Namespaced {
		return "demo"
	}
	return ""
}

func (o ours) create(r client.Resource, obj runtime.Object) {
	clienttest.Must(o.b.Client().Create(o.t, r, namespace(r), obj))
}

func (o ours) update(r client.Resource, obj runtime.Object) {
	obj.(metav1.Object).SetResourceVersion("")
	_, err := o.b.Client().Update(o.t, r, namespace(r), obj.DeepCopyObject(), "")
	if r != client.ResourceSlices && r != client.DeviceTaintRules && err == nil {
		_, _ = o.b.Client().Update(o.t, r, namespace(r), obj, "status")
	}
}

func (o ours) remove(r client.Resource, name string) {
	_ = o.b.Client().Delete(o.t, r, namespace(r), name, metav1.DeleteOptions{})
}

func (o ours) began() time.Time { return sim.DefaultEpoch }

func (o ours) until(after time.Duration) { o.t.Sleep(after - o.t.Elapsed()) }

type theirs struct {
	ctx   context.Context
	c     *fake.Clientset
	start time.Time
	uids  int
}

func (o *theirs) objects(r client.Resource) (all []runtime.Object) {
	list := clienttest.Must(o.c.Tracker().List(r.GroupVersionResource, r.GVK(), ""))
	switch l := list.(type) {
	case *corev1.PodList:
		all = pointers(l.Items)
	case *corev1.EventList:
		all = pointers(l.Items)
	case *resourcev1.ResourceClaimList:
		all = pointers(l.Items)
	case *resourcev1.ResourceSliceList:
		all = pointers(l.Items)
	case *resourcev1.DeviceTaintRuleList:
		all = pointers(l.Items)
	}
	slices.SortFunc(all, func(a, b runtime.Object) int {
		return strings.Compare(a.(metav1.Object).GetName(), b.(metav1.Object).GetName())
	})
	return all
}

func pointers[T any, P interface {
	*T
	runtime.Object
}](items []T) (all []runtime.Object) {
	for i := range items {
		all = append(all, P(&items[i]).DeepCopyObject())
	}
	return all
}

func (o *theirs) create(r client.Resource, obj runtime.Object) {
	o.uids++
	m := obj.(metav1.Object)
	m.SetUID(types.UID(fmt.Sprint("uid-", o.uids)))
	m.SetGeneration(1)
	clienttest.Must(0, o.c.Tracker().Create(r.GroupVersionResource, obj, namespace(r)))
}

func (o *theirs) update(r client.Resource, obj runtime.Object) {
	if rule, ok := obj.(*resourcev1.DeviceTaintRule); ok {
		was, _ := find[*resourcev1.DeviceTaintRule](o, r, rule.Name)
		if !equality.Semantic.DeepEqual(was.Spec, rule.Spec) {
			rule.Generation++
		}
	}
	m := obj.(metav1.Object)
	if was, err := o.c.Tracker().Get(r.GroupVersionResource, namespace(r), m.GetName()); err == nil && equality.Semantic.DeepEqual(was, obj) {
		return // an API server tells nobody
	}
	if m.GetDeletionTimestamp() != nil && len(m.GetFinalizers()) == 0 {
		_ = o.c.Tracker().Delete(r.GroupVersionResource, namespace(r), m.GetName())
		return
	}
	clienttest.Must(0, o.c.Tracker().Update(r.GroupVersionResource, obj, namespace(r)))
}

func (o *theirs) remove(r client.Resource, name string) {
	for _, obj := range o.objects(r) {
		m := obj.(metav1.Object)
		switch {
		case m.GetName() != name:
		case len(m.GetFinalizers()) == 0:
			_ = o.c.Tracker().Delete(r.GroupVersionResource, namespace(r), name)
		case m.GetDeletionTimestamp() == nil:
			m.SetDeletionTimestamp(ptr.To(metav1.Now()))
			clienttest.Must(0, o.c.Tracker().Update(r.GroupVersionResource, obj, namespace(r)))
		}
	}
}

func (o *theirs) began() time.Time { return o.start }

func (o *theirs) until(after time.Duration) { time.Sleep(after - time.Since(o.start)) }
