package statefulset_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/record"
	"k8s.io/kubernetes/pkg/controller/history"
	upstream "k8s.io/kubernetes/pkg/controller/statefulset"
	"k8s.io/utils/ptr"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// cluster is what a story happens to, once with our controller and once with Kubernetes'.
type cluster interface {
	// set changes the StatefulSet, pod a pod (and its status), claim a claim.
	set(func(*appsv1.StatefulSet))
	pod(name string, change func(*corev1.Pod))
	claim(name string, change func(*corev1.PersistentVolumeClaim))
	// deletePod asks a pod to end; remove is its end.
	deletePod(name string)
	remove(name string)
	removeClaim(name string)
	// state is all that there is, in words, and happened the Events so far.
	state() []string
	happened() []string
	pods() []*corev1.Pod
	claims() []*corev1.PersistentVolumeClaim
}

// In any story of a StatefulSet and its pods, after each thing that happens, there are the
// same pods, claims and revisions, the same status and the same Events as with Kubernetes' own code.
// KVIZ_STORIES is how many stories, KVIZ_STORY the seed of one.
func TestStoriesAreUpstreams(t *testing.T) {
	stories, first := 12, uint64(1)
	if n, err := strconv.Atoi(os.Getenv("KVIZ_STORIES")); err == nil {
		stories = n
	}
	if n, err := strconv.ParseUint(os.Getenv("KVIZ_STORY"), 10, 64); err == nil {
		stories, first = 1, n
	}
	for seed := first; seed < first+uint64(stories); seed++ {
		var told []string
		differs := ""
		clienttest.Run(t, seed, func(b *clienttest.Bench, task *sim.Task) {
			r := rand.New(rand.NewPCG(seed, 7))
			set := anySet(r)
			ours, theirs := newOurs(b, task, set), newTheirs(t, task, set)
			// Ours is asked to look again, since it watches no claims. Theirs sees what time
			// does soon after ours: what becomes available first is deleted first.
			pass := func() {
				theirs.settle()
				for range 3 {
					ours.look()
					task.Sleep(700 * time.Millisecond)
					theirs.settle()
				}
			}
			for {
				pass()
				if differs = cmp.Diff(theirs.state(), ours.state()); differs == "" && len(theirs.happened()) < 10 { // later ones are combined
					differs = cmp.Diff(theirs.happened(), ours.happened())
				}
				if differs != "" || len(told) >= 25 {
					return
				}
				if len(told) > 0 && r.IntN(3) == 0 {
					told = append(told, "some seconds")
					pass()
					continue
				}
				what, do := anything(r, theirs)
				told = append(told, what)
				do(ours)
				do(theirs)
			}
		})
		if differs != "" {
			t.Fatalf("KVIZ_STORY=%d: after\n  %s\nupstream (-), ours (+):\n%s", seed, strings.Join(told, "\n  "), differs)
		}
	}
}

func anySet(r *rand.Rand) *appsv1.StatefulSet {
	set := db(int32(r.IntN(5)), "db:1")
	set.Spec.RevisionHistoryLimit = ptr.To(int32(r.IntN(3)))
	if r.IntN(2) == 0 {
		set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
	}
	if r.IntN(3) == 0 {
		set.Spec.MinReadySeconds = 5
	}
	if r.IntN(4) == 0 {
		set.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: int32(r.IntN(3))}
	}
	switch r.IntN(4) {
	case 0:
		set.Spec.VolumeClaimTemplates = nil
	case 1:
		set.Spec.VolumeClaimTemplates = append(set.Spec.VolumeClaimTemplates, corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "log", Labels: map[string]string{"app": "other", "kind": "log"}}})
	}
	anyStrategy(r)(set)
	anyRetention(r)(set)
	return set
}

func anyStrategy(r *rand.Rand) func(*appsv1.StatefulSet) {
	s := appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType}
	switch r.IntN(5) {
	case 0:
		s.Type = appsv1.OnDeleteStatefulSetStrategyType
	case 1: // as somebody wrote it before there were defaults
	default:
		s.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: ptr.To(int32(max(0, r.IntN(6)-3)))}
		switch r.IntN(3) {
		case 0:
			s.RollingUpdate.MaxUnavailable = ptr.To(intstr.FromInt32(int32(1 + r.IntN(3))))
		case 1:
			s.RollingUpdate.MaxUnavailable = ptr.To(intstr.FromString(fmt.Sprintf("%d%%", 10+r.IntN(80))))
		}
	}
	return func(set *appsv1.StatefulSet) {
		set.Spec.UpdateStrategy = *s.DeepCopy()
		if s.RollingUpdate == nil && set.Spec.PodManagementPolicy == appsv1.ParallelPodManagement {
			// Without a partition, which the API server sees to, upstream makes pods of the old
			// revision and deletes them for it, for ever.
			set.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
		}
	}
}

func anyRetention(r *rand.Rand) func(*appsv1.StatefulSet) {
	var p *appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy
	if r.IntN(3) > 0 {
		any := func() appsv1.PersistentVolumeClaimRetentionPolicyType {
			return []appsv1.PersistentVolumeClaimRetentionPolicyType{appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType}[r.IntN(2)]
		}
		p = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: any(), WhenScaled: any()}
	}
	return func(set *appsv1.StatefulSet) { set.Spec.PersistentVolumeClaimRetentionPolicy = p.DeepCopy() }
}

// anything is something that happens, the same in both clusters.
func anything(r *rand.Rand, c cluster) (string, func(cluster)) {
	change := func(what string, fn func(*appsv1.StatefulSet)) (string, func(cluster)) {
		return what, func(c cluster) { c.set(fn) }
	}
	switch n := r.IntN(20); {
	case n == 0:
		replicas := int32(r.IntN(6))
		return change(fmt.Sprint("scale to ", replicas), func(s *appsv1.StatefulSet) { s.Spec.Replicas = &replicas })
	case n <= 2:
		image := fmt.Sprint("db:", 1+r.IntN(4))
		return change("image "+image, func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].Image = image })
	case n == 3 && r.IntN(2) == 0:
		return change("another strategy", anyStrategy(r))
	case n == 3:
		return change("another retention policy", anyRetention(r))
	case n == 4 && len(c.claims()) > 0:
		claim := c.claims()[r.IntN(len(c.claims()))].Name
		switch r.IntN(3) {
		case 0:
			return claim + " goes", func(c cluster) { c.removeClaim(claim) }
		case 1:
			return claim + " has an owner of an earlier time", func(c cluster) {
				c.claim(claim, func(p *corev1.PersistentVolumeClaim) {
					p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: p.Name[strings.Index(p.Name, "-")+1:], UID: "gone", Controller: ptr.To(true)}}
				})
			}
		}
		return claim + " has another controller", func(c cluster) {
			c.claim(claim, func(p *corev1.PersistentVolumeClaim) {
				p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{APIVersion: "x/v1", Kind: "Other", Name: "x", UID: "x", Controller: ptr.To(true)})
			})
		}
	}
	pods := c.pods()
	if len(pods) == 0 {
		return "nothing", func(cluster) {}
	}
	pod := pods[r.IntN(len(pods))]
	name := pod.Name
	switch {
	case pod.DeletionTimestamp != nil:
		return name + " has ended", func(c cluster) { c.remove(name) }
	case pod.Status.Phase == corev1.PodPending && r.IntN(8) > 0:
		return name + " is ready", func(c cluster) { c.pod(name, func(p *corev1.Pod) { run(p, corev1.ConditionTrue) }) }
	}
	switch r.IntN(6) {
	case 0:
		return "delete " + name, func(c cluster) { c.deletePod(name) }
	case 1:
		return name + " is not ready", func(c cluster) { c.pod(name, func(p *corev1.Pod) { run(p, corev1.ConditionFalse) }) }
	case 2:
		phase := []corev1.PodPhase{corev1.PodFailed, corev1.PodSucceeded}[r.IntN(2)]
		return name + " " + string(phase), func(c cluster) { c.pod(name, func(p *corev1.Pod) { p.Status.Phase, p.Status.Conditions = phase, nil }) }
	case 3:
		return name + " loses its name label", func(c cluster) { c.pod(name, func(p *corev1.Pod) { delete(p.Labels, appsv1.StatefulSetPodNameLabel) }) }
	}
	return name + " is ready", func(c cluster) { c.pod(name, func(p *corev1.Pod) { run(p, corev1.ConditionTrue) }) }
}

// run has a pod run, since now.
func run(p *corev1.Pod, ready corev1.ConditionStatus) {
	p.Spec.NodeName, p.Status.Phase = "node-1", corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
}

// since says when what is new about a pod began.
func since(p *corev1.Pod, now time.Time) {
	for i := range p.Status.Conditions {
		if at := &p.Status.Conditions[i].LastTransitionTime; at.IsZero() {
			*at = metav1.NewTime(now)
		}
	}
}

// describe is what there is, in words.
func describe(set *appsv1.StatefulSet, pods []*corev1.Pod, claims []*corev1.PersistentVolumeClaim, revisions []*appsv1.ControllerRevision) (out []string) {
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	owners := func(refs []metav1.OwnerReference) (s string) {
		for _, r := range refs {
			s += fmt.Sprintf(" %s/%s controller %v block %v", r.Kind, r.Name, ptr.Deref(r.Controller, false), ptr.Deref(r.BlockOwnerDeletion, false))
		}
		return s
	}
	for _, p := range pods {
		volumes := append([]corev1.Volume{}, p.Spec.Volumes...)
		slices.SortFunc(volumes, func(a, b corev1.Volume) int { return strings.Compare(a.Name, b.Name) })
		v, _ := json.Marshal(volumes)
		say("pod %s labels %v of%s host %s.%s image %s %s deleting %v volumes %s", p.Name, p.Labels, owners(p.OwnerReferences), p.Spec.Hostname, p.Spec.Subdomain, p.Spec.Containers[0].Image, p.Status.Phase, p.DeletionTimestamp != nil, v)
	}
	for _, c := range claims {
		say("claim %s labels %v of%s", c.Name, c.Labels, owners(c.OwnerReferences))
	}
	for _, r := range revisions {
		say("revision %s number %d labels %v annotations %v of%s: %s", r.Name, r.Revision, r.Labels, r.Annotations, owners(r.OwnerReferences), r.Data.Raw)
	}
	slices.Sort(out)
	st, _ := json.Marshal(set.Status)
	spec := set.Spec.DeepCopy()
	spec.Template = corev1.PodTemplateSpec{}
	sp, _ := json.Marshal(spec)
	say("generation %d spec %s status %s", set.Generation, sp, st)
	return out
}

// ours is a cluster with our controller.
type ours struct {
	b *clienttest.Bench
	t *sim.Task
	c client.Interface
}

func newOurs(b *clienttest.Bench, t *sim.Task, set *appsv1.StatefulSet) *ours {
	start(b)
	clienttest.Must(client.Create(t, b.Client(), client.StatefulSets, "demo", set.DeepCopy()))
	return &ours{b, t, b.Client()}
}

// look has the controller look at the set.
func (o *ours) look() {
	o.set(func(s *appsv1.StatefulSet) { s.Labels = map[string]string{"looked": fmt.Sprint(o.t.Now().UnixNano())} })
}

func (o *ours) set(fn func(*appsv1.StatefulSet)) {
	change(o.t, o.c, fn)
}

func (o *ours) pod(name string, fn func(*corev1.Pod)) {
	pod := clienttest.Must(client.Get[*corev1.Pod](o.t, o.c, client.Pods, "demo", name))
	fn(pod)
	since(pod, o.t.Now())
	status := pod.Status
	pod = clienttest.Must(client.Update(o.t, o.c, client.Pods, "demo", pod))
	pod.Status = status
	pod.ResourceVersion = ""
	clienttest.Must(client.UpdateStatus(o.t, o.c, client.Pods, "demo", pod))
}

func (o *ours) claim(name string, fn func(*corev1.PersistentVolumeClaim)) {
	claim := clienttest.Must(client.Get[*corev1.PersistentVolumeClaim](o.t, o.c, client.PersistentVolumeClaims, "demo", name))
	fn(claim)
	clienttest.Must(client.Update(o.t, o.c, client.PersistentVolumeClaims, "demo", claim))
}

func (o *ours) deletePod(name string) {
	_ = o.c.Delete(o.t, client.Pods, "demo", name, metav1.DeleteOptions{})
}

func (o *ours) remove(name string) {
	_ = o.c.Delete(o.t, client.Pods, "demo", name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))})
}

func (o *ours) removeClaim(name string) {
	_ = o.c.Delete(o.t, client.PersistentVolumeClaims, "demo", name, metav1.DeleteOptions{})
}

func all[T runtime.Object](b *clienttest.Bench, r client.Resource) (out []T) {
	for _, o := range b.Objects(r) {
		out = append(out, o.(T))
	}
	return out
}

func (o *ours) pods() []*corev1.Pod { return all[*corev1.Pod](o.b, client.Pods) }
func (o *ours) claims() []*corev1.PersistentVolumeClaim {
	return all[*corev1.PersistentVolumeClaim](o.b, client.PersistentVolumeClaims)
}

func (o *ours) state() []string {
	return describe(o.b.Object(client.StatefulSets, "demo", "db").(*appsv1.StatefulSet), o.pods(), o.claims(), all[*appsv1.ControllerRevision](o.b, client.ControllerRevisions))
}

// happened leaves out conflicts: our controller has a cache that is late, as upstream's own has,
// and theirs has none here.
func (o *ours) happened() (out []string) {
	for _, e := range o.b.Events {
		if p, ok := e.Payload.(*trace.KubeEvent); ok && e.Kind == trace.EventRecorded && !strings.Contains(p.Message, "the object has been modified") {
			out = append(out, fmt.Sprintf("%s %s %s", p.Type, p.Reason, p.Message))
		}
	}
	return unique(out)
}

// unique sorts: upstream's claims and, with Parallel, pods come in any order.
func unique(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// theirs is a cluster with Kubernetes' controller: all that its control asks for, in memory.
type theirs struct {
	tb        *testing.T
	t         *sim.Task
	mu        sync.Mutex // with Parallel upstream asks from goroutines
	it        *appsv1.StatefulSet
	podsBy    map[string]*corev1.Pod
	claimsBy  map[string]*corev1.PersistentVolumeClaim
	history   history.Interface
	control   upstream.StatefulSetControlInterface
	events    []string
	writes    int
	uids      int
	revisions informers.SharedInformerFactory
}

func newTheirs(tb *testing.T, t *sim.Task, set *appsv1.StatefulSet) *theirs {
	c := &theirs{tb: tb, t: t, it: set.DeepCopy(), podsBy: map[string]*corev1.Pod{}, claimsBy: map[string]*corev1.PersistentVolumeClaim{}}
	c.it.UID, c.it.Generation = "db-uid", 1
	c.revisions = informers.NewSharedInformerFactory(nil, 0)
	c.history = history.NewFakeHistory(c.revisions.Apps().V1().ControllerRevisions())
	c.control = upstream.NewDefaultStatefulSetControl(upstream.NewStatefulPodControlFromManager(c, c), c, c.history)
	return c
}

// settle lets the controller work until it has nothing left to do.
func (c *theirs) settle() {
	for range 100 {
		c.writes = 0
		_, err := c.control.UpdateStatefulSet(context.Background(), c.it.DeepCopy(), c.pods(), c.t.Now())
		if c.writes == 0 || err != nil && strings.Contains(err.Error(), "is being deleted") {
			return
		}
	}
	c.tb.Error("upstream does not come to rest")
}

func (c *theirs) set(fn func(*appsv1.StatefulSet)) {
	was := c.it.Spec.DeepCopy()
	if fn(c.it); cmp.Diff(*was, c.it.Spec) != "" {
		c.it.Generation++
	}
}

func (c *theirs) pod(name string, fn func(*corev1.Pod)) {
	p := c.podsBy[name].DeepCopy()
	fn(p)
	since(p, c.t.Now())
	c.podsBy[name] = p
}

func (c *theirs) claim(name string, fn func(*corev1.PersistentVolumeClaim)) { fn(c.claimsBy[name]) }
func (c *theirs) deletePod(name string)                                     { _ = c.DeletePod(c.podsBy[name]) }
func (c *theirs) remove(name string)                                        { delete(c.podsBy, name) }
func (c *theirs) removeClaim(name string)                                   { delete(c.claimsBy, name) }

func values[T metav1.Object](m map[string]T) (out []T) {
	for _, v := range m {
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b T) int { return strings.Compare(a.GetName(), b.GetName()) })
	return out
}

func (c *theirs) pods() []*corev1.Pod                     { return values(c.podsBy) }
func (c *theirs) claims() []*corev1.PersistentVolumeClaim { return values(c.claimsBy) }

func (c *theirs) state() []string {
	list, err := c.revisions.Apps().V1().ControllerRevisions().Lister().List(labels.Everything())
	if err != nil {
		c.tb.Error(err)
	}
	return describe(c.it, c.pods(), c.claims(), list)
}

func (c *theirs) happened() []string { return unique(slices.Clone(c.events)) }

func (c *theirs) wrote() func() {
	c.mu.Lock()
	c.writes++
	c.uids++
	return c.mu.Unlock
}

// CreatePod and the rest are [upstream.StatefulPodControlObjectManager].
func (c *theirs) CreatePod(_ context.Context, pod *corev1.Pod, _ *appsv1.StatefulSet) error {
	defer c.wrote()()
	if c.podsBy[pod.Name] != nil {
		return apierrors.NewAlreadyExists(client.Pods.GroupResource(), pod.Name)
	}
	pod = pod.DeepCopy()
	pod.UID, pod.Status.Phase = types.UID(fmt.Sprint("pod-", c.uids)), corev1.PodPending
	c.podsBy[pod.Name] = pod
	return nil
}

func (c *theirs) GetPod(_, name string) (*corev1.Pod, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.podsBy[name]; p != nil {
		return p, nil
	}
	return nil, apierrors.NewNotFound(client.Pods.GroupResource(), name)
}

func (c *theirs) UpdatePod(pod *corev1.Pod, _ *appsv1.StatefulSet) error {
	defer c.wrote()()
	c.podsBy[pod.Name] = pod.DeepCopy()
	return nil
}

func (c *theirs) DeletePod(pod *corev1.Pod) error {
	defer c.wrote()()
	have := c.podsBy[pod.Name]
	switch {
	case have == nil:
		return apierrors.NewNotFound(client.Pods.GroupResource(), pod.Name)
	case have.Spec.NodeName == "" || have.Status.Phase == corev1.PodFailed || have.Status.Phase == corev1.PodSucceeded:
		delete(c.podsBy, pod.Name) // nobody has to end it first
	default:
		have = have.DeepCopy()
		have.DeletionTimestamp = ptr.To(metav1.NewTime(c.t.Now()))
		c.podsBy[pod.Name] = have
	}
	return nil
}

func (c *theirs) CreateClaim(claim *corev1.PersistentVolumeClaim, _ *appsv1.StatefulSet) error {
	defer c.wrote()()
	claim = claim.DeepCopy()
	claim.UID = types.UID(fmt.Sprint("claim-", c.uids))
	c.claimsBy[claim.Name] = claim
	return nil
}

func (c *theirs) GetClaim(_, name string) (*corev1.PersistentVolumeClaim, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.claimsBy[name]; p != nil {
		return p, nil
	}
	return nil, apierrors.NewNotFound(client.PersistentVolumeClaims.GroupResource(), name)
}

func (c *theirs) UpdateClaim(claim *corev1.PersistentVolumeClaim, _ *appsv1.StatefulSet) error {
	defer c.wrote()()
	c.claimsBy[claim.Name] = claim.DeepCopy()
	return nil
}

func (c *theirs) UpdateStatefulSetStatus(_ context.Context, _ *appsv1.StatefulSet, st *appsv1.StatefulSetStatus) error {
	defer c.wrote()()
	c.it.Status = *st.DeepCopy()
	return nil
}

var _ record.EventRecorder = &theirs{}

// Event and the rest are [record.EventRecorder].
func (c *theirs) Event(_ runtime.Object, eventtype, reason, message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, fmt.Sprintf("%s %s %s", eventtype, reason, message))
}

func (c *theirs) Eventf(obj runtime.Object, eventtype, reason, format string, args ...any) {
	c.Event(obj, eventtype, reason, fmt.Sprintf(format, args...))
}

func (c *theirs) AnnotatedEventf(obj runtime.Object, _ map[string]string, eventtype, reason, format string, args ...any) {
	c.Eventf(obj, eventtype, reason, format, args...)
}
