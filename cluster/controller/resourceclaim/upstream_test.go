package resourceclaim

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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	upstream "k8s.io/kubernetes/pkg/controller/resourceclaim"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/upstreamtest"
	"kviz/cluster/sim"
)

// api is a cluster's API, as a story needs it.
type api interface {
	pods() []*corev1.Pod
	claims() []*resourcev1.ResourceClaim
	create(obj runtime.Object)
	update(obj runtime.Object) // spec, metadata and status
	remove(obj metav1.Object)  // a finalizer keeps it
	pause()
}

// play does a story's steps and gives what there is after each of them.
func play(a api, steps []int) string {
	var out strings.Builder
	for n, step := range steps {
		name := fmt.Sprint("pod-", step%3)
		i := slices.IndexFunc(a.pods(), func(p *corev1.Pod) bool { return p.Name == name })
		var is *corev1.Pod
		if i >= 0 {
			is = a.pods()[i]
		}
		switch act := step / 3; {
		case act == 0 && n%2 == 0:
			a.create(template(fmt.Sprint("t-", step%3)))
		case act == 0:
			a.create(&resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: fmt.Sprint("c-", step%3)}})
		case is == nil:
			p := pod(name, ofTemplate("gpu", fmt.Sprint("t-", act%3)), named("shared", fmt.Sprint("c-", n%3)))
			p.UID = types.UID(fmt.Sprint(name, "-", n))
			a.create(p)
		case act == 1: // the scheduler
			for _, claim := range a.claims() {
				for _, of := range claimsOf(is) {
					if of == "demo/"+claim.Name && len(claim.Status.ReservedFor) < 2 {
						schedule(claim, is)
						a.update(claim)
					}
				}
			}
			is.Spec.NodeName = "node"
			a.update(is)
		case act == 2:
			is.Spec.NodeName = "node"
			a.update(is)
		case act == 3:
			is.Status.Phase = corev1.PodSucceeded
			a.update(is)
		case act == 4:
			a.remove(is)
		default: // not those that were made: whether they are made again depends on how fast upstream's cache was
			for _, claim := range a.claims() {
				if _, generated := claim.Annotations[resourcev1.PodResourceClaimAnnotation]; !generated {
					a.remove(claim)
				}
			}
		}
		a.pause()
		fmt.Fprintf(&out, "%d:\n%s\n", step, text(a))
	}
	return out.String()
}

// text is what there is; generated names are without their random part.
func text(a api) string {
	var lines []string
	base := func(name string) string { return name[:min(len(name), len("pod-0-gpu"))] }
	for _, p := range a.pods() {
		line := p.Name
		for _, s := range p.Status.ResourceClaimStatuses {
			line += fmt.Sprintf(" %s=%s", s.Name, base(ptr.Deref(s.ResourceClaimName, "")))
		}
		lines = append(lines, line)
	}
	for _, c := range a.claims() {
		line := fmt.Sprint(base(c.Name), c.Labels, c.Annotations, c.Finalizers, " allocated ", c.Status.Allocation != nil, " deleted ", c.DeletionTimestamp != nil, " owner ")
		who := func(uid types.UID) string { // UIDs are each side's own
			for _, p := range a.pods() {
				if p.UID == uid {
					return " " + p.Name
				}
			}
			return " a pod that has gone"
		}
		if name, uid := ownerOf(c); name != "" {
			line += name + who(uid)
		}
		line += " for"
		for _, by := range c.Status.ReservedFor {
			line += who(by.UID)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// Of any story of pods, templates and claims both controllers make and delete the same claims,
// write the same into pods, and take the same back.
func TestClaimsAreUpstreams(tt *testing.T) {
	upstreamtest.Check(tt, "20", func(r *rapid.T) {
		steps := rapid.SliceOfN(rapid.IntRange(0, 20), 3, 12).Draw(r, "steps")
		var here, there string
		clienttest.Run(r, 1, func(b *clienttest.Bench, t *sim.Task) {
			start(b)
			here = play(ours{b, t}, steps)
		})
		upstreamtest.Bubble(tt, nil, func(ctx context.Context, c *fake.Clientset, f informers.SharedInformerFactory) func(context.Context) {
			n := 0
			c.PrependReactor("create", "resourceclaims", func(a clienttesting.Action) (bool, runtime.Object, error) {
				if m := a.(clienttesting.CreateAction).GetObject().(metav1.Object); m.GetName() == "" {
					n++
					m.SetName(fmt.Sprint(m.GetGenerateName(), n))
				}
				return false, nil, nil
			})
			controller, err := upstream.NewController(klog.FromContext(ctx), c, f.Core().V1().Pods(), f.Scheduling().V1beta1().PodGroups(), f.Resource().V1().ResourceClaims(), f.Resource().V1().ResourceClaimTemplates())
			if err != nil {
				panic(err)
			}
			return func(ctx context.Context) { controller.Run(ctx, 1) }
		}, func(ctx context.Context, c *fake.Clientset) { there = play(theirs{ctx, c}, steps) })
		if diff := cmp.Diff(strings.Split(there, "\n"), strings.Split(here, "\n")); diff != "" {
			r.Fatalf("-upstream +here:\n%s", diff)
		}
	})
}

const pause = 2 * time.Minute // longer than a back-off becomes

type ours struct {
	b *clienttest.Bench
	t *sim.Task
}

func (o ours) pods() (all []*corev1.Pod) {
	for _, obj := range o.b.Objects(client.Pods) {
		all = append(all, obj.(*corev1.Pod).DeepCopy())
	}
	return all
}

func (o ours) claims() (all []*resourcev1.ResourceClaim) {
	for _, obj := range o.b.Objects(client.ResourceClaims) {
		all = append(all, obj.(*resourcev1.ResourceClaim).DeepCopy())
	}
	return all
}

func kindOf(obj any) client.Resource {
	switch obj.(type) {
	case *corev1.Pod:
		return client.Pods
	case *resourcev1.ResourceClaim:
		return client.ResourceClaims
	}
	return client.ResourceClaimTemplates
}

func (o ours) create(obj runtime.Object) { _, _ = o.b.Client().Create(o.t, kindOf(obj), "demo", obj) }

func (o ours) update(obj runtime.Object) {
	made := clienttest.Must(o.b.Client().Update(o.t, kindOf(obj), "demo", obj.DeepCopyObject(), ""))
	obj.(metav1.Object).SetResourceVersion(made.(metav1.Object).GetResourceVersion())
	clienttest.Must(o.b.Client().Update(o.t, kindOf(obj), "demo", obj, "status"))
}

func (o ours) remove(obj metav1.Object) {
	_ = o.b.Client().Delete(o.t, kindOf(obj), "demo", obj.GetName(), metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))})
}

func (o ours) pause() { o.t.Sleep(pause) }

type theirs struct {
	ctx context.Context
	c   *fake.Clientset
}

func (o theirs) pods() (all []*corev1.Pod) {
	list := clienttest.Must(o.c.CoreV1().Pods("demo").List(o.ctx, metav1.ListOptions{}))
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	return all
}

func (o theirs) claims() (all []*resourcev1.ResourceClaim) {
	list := clienttest.Must(o.c.ResourceV1().ResourceClaims("demo").List(o.ctx, metav1.ListOptions{}))
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	return all
}

func (o theirs) create(obj runtime.Object) {
	_ = o.c.Tracker().Create(kindOf(obj).GroupVersionResource, obj, "demo")
}

func (o theirs) update(obj runtime.Object) {
	clienttest.Must(0, o.c.Tracker().Update(kindOf(obj).GroupVersionResource, obj, "demo"))
}

func (o theirs) remove(obj metav1.Object) {
	r := kindOf(obj).GroupVersionResource
	if len(obj.GetFinalizers()) == 0 {
		_ = o.c.Tracker().Delete(r, "demo", obj.GetName())
		return
	}
	now := metav1.Now()
	obj.SetDeletionTimestamp(&now)
	_ = o.c.Tracker().Update(r, obj.(runtime.Object), "demo")
}

func (o theirs) pause() { time.Sleep(pause) }
