// Package attach tells stories of pods that want volumes, with kviz' attach-detach controller and, beside it
// in the same virtual time, with Kubernetes' own, whose packages the main module does not have.
//
// Start reading at TestStoriesAreUpstreams.
package attach

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	clientset "k8s.io/client-go/kubernetes"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	storageclient "k8s.io/client-go/kubernetes/typed/storage/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	upstream "k8s.io/kubernetes/pkg/controller/volume/attachdetach"
	"k8s.io/kubernetes/pkg/volume/csi"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/attachdetach/attachtest"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/upstreamtest"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// cluster is what a story happens to, once with our controller and once with Kubernetes'.
type cluster interface {
	addPod(*corev1.Pod)
	changePod(name string, fn func(*corev1.Pod))
	removePod(name string)
	addNode(*corev1.Node)
	changeNode(name string, fn func(*corev1.Node))
	removeNode(name string)
	// answer has the driver answer a VolumeAttachment.
	answer(name string, fn func(*storagev1.VolumeAttachment))
	detached(name string)
	restart()

	pods() []*corev1.Pod
	nodes() []*corev1.Node
	attachments() []*storagev1.VolumeAttachment
	happened() []string
}

// In any story of pods, nodes, a driver and restarts there are, after each thing that happens, the
// same VolumeAttachments, the nodes' statuses say the same, and pods have got the same Events, as
// with Kubernetes' own controller, which runs in real goroutines on virtual time.
func TestStoriesAreUpstreams(t *testing.T) {
	klog.SetLogger(klog.Logger{}) // it logs what it does
	upstreamtest.Check(t, "10", func(r *rapid.T) {
		seed, length := rapid.Uint64().Draw(r, "seed"), rapid.IntRange(1, 14).Draw(r, "things")
		var told []string
		differs := ""
		// An answer that comes in the last seconds in which upstream looks for one may count or not. So a
		// story that differs is told again with other pauses: what differs for good is another behaviour.
		for _, pause := range []time.Duration{9 * time.Second, 8100 * time.Millisecond, 10300 * time.Millisecond} {
			told = nil
			steady.Bubble(t, func(t *testing.T) { differs = oneStory(seed, length, pause, &told) })
			if differs == "" {
				return
			}
		}
		r.Fatalf("after\n  %s\nupstream (-), ours (+):\n%s", strings.Join(told, "\n  "), differs)
	})
}

func oneStory(seed uint64, length int, pause time.Duration, told *[]string) (differs string) {
	b := &clienttest.Bench{}
	b.Kernel = sim.New(sim.Config{Seed: seed, Sink: b})
	b.Server = clienttest.New(b.Kernel)
	b.Kernel.NewProcess(trace.Lane{Component: "test"}).Go("main", func(task *sim.Task) {
		defer b.Kernel.Stop()
		c := b.Client()
		theirs := newTheirs()
		ours := &ours{b: b, t: task, c: c}
		ours.finalize()
		for _, name := range []string{"a", "b", "shared"} {
			claim, pv := attachtest.Create(task, c, name)
			theirs.claims.Indexer.Add(claim)
			theirs.volumes.Indexer.Add(pv)
		}
		for _, name := range []string{"node-1", "node-2"} {
			ours.addNode(attachtest.Node(name))
			theirs.addNode(attachtest.Node(name))
		}
		ours.p = attachtest.Start(b)
		theirs.start()
		defer theirs.end()
		r := rand.New(rand.NewPCG(seed, 7))
		pass := func(d time.Duration) {
			task.Sleep(d)
			time.Sleep(d)
		}
		for range length {
			what, do := anything(r, theirs)
			*told = append(*told, what)
			do(ours)
			do(theirs)
			pass(pause) // upstream looks for an answer every 7 s and a bit, if it has waited long
			if r.IntN(6) == 0 {
				d := []time.Duration{50 * time.Second, 7 * time.Minute}[r.IntN(2)]
				*told = append(*told, d.String())
				pass(d)
			}
			for try := 0; ; try++ {
				if differs = cmp.Diff(picture(theirs), picture(ours)); differs == "" || try == 60 {
					break
				}
				pass(pause)
			}
			if differs != "" {
				return
			}
		}
	})
	if err := b.Kernel.Run(context.Background()); err != nil {
		return err.Error()
	}
	return differs
}

// picture is what there is, and the Events so far. That the driver did not answer in time is left
// out: with upstream's jitter an answer of the last seconds may count or not.
func picture(c cluster) (out []string) {
	for _, n := range c.nodes() {
		var has []string
		for _, v := range n.Status.VolumesAttached {
			has = append(has, string(v.Name))
		}
		slices.Sort(has)
		out = append(out, fmt.Sprintf("%s says that it has %v", n.Name, has))
	}
	for _, va := range c.attachments() {
		out = append(out, fmt.Sprintf("%s of %s to %s by %s: attached %v deleting %v", va.Name, *va.Spec.Source.PersistentVolumeName, va.Spec.NodeName, va.Spec.Attacher, va.Status.Attached, va.DeletionTimestamp != nil))
	}
	slices.Sort(out)
	events := slices.DeleteFunc(slices.Clone(c.happened()), func(s string) bool { return strings.Contains(s, "timed out") })
	slices.Sort(events)
	return append(out, slices.Compact(events)...)
}

// anything is something that happens, the same in both clusters.
func anything(r *rand.Rand, c cluster) (string, func(cluster)) {
	nodes, pods, vas := c.nodes(), c.pods(), c.attachments()
	var open []*storagev1.VolumeAttachment // that the driver may answer
	for _, va := range vas {
		if !va.Status.Attached || va.DeletionTimestamp != nil {
			open = append(open, va)
		}
	}
	n, beat := r.IntN(20), metav1.Unix(r.Int64N(1<<30), 0) // a node that says nothing new says at least when
	switch {
	case n < 9 && len(open) > 0:
		va := open[r.IntN(len(open))]
		name, where := va.Name, *va.Spec.Source.PersistentVolumeName+" to "+va.Spec.NodeName
		said := &storagev1.VolumeError{Message: "it is broken"}
		fails := r.IntN(4) == 0
		switch {
		case va.DeletionTimestamp != nil && fails:
			return "the driver cannot detach " + where, func(c cluster) {
				c.answer(name, func(va *storagev1.VolumeAttachment) { va.Status.DetachError = said })
			}
		case va.DeletionTimestamp != nil:
			return "the driver has detached " + where, func(c cluster) { c.detached(name) }
		case fails:
			return "the driver cannot attach " + where, func(c cluster) {
				c.answer(name, func(va *storagev1.VolumeAttachment) { va.Status.AttachError = said })
			}
		}
		return "the driver has attached " + where, func(c cluster) {
			c.answer(name, func(va *storagev1.VolumeAttachment) {
				va.Status = storagev1.VolumeAttachmentStatus{Attached: true}
			})
		}
	case n == 9:
		return "the controller starts again", func(c cluster) { c.restart() }
	case n <= 11 && len(pods) > 0:
		name := pods[r.IntN(len(pods))].Name
		return "remove " + name, func(c cluster) { c.removePod(name) }
	case n == 12 && len(pods) > 0:
		name := pods[r.IntN(len(pods))].Name
		return name + " has ended", func(c cluster) {
			c.changePod(name, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
		}
	case n <= 15 && len(nodes) > 0:
		node := nodes[r.IntN(len(nodes))]
		name := node.Name
		switch r.IntN(6) {
		case 0:
			ready := []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionUnknown}[r.IntN(2)]
			return fmt.Sprintf("%s is ready: %s", name, ready), func(c cluster) {
				c.changeNode(name, func(n *corev1.Node) {
					n.Status.Conditions[0].Status, n.Status.Conditions[0].LastHeartbeatTime = ready, beat
				})
			}
		case 1:
			var taints []corev1.Taint
			if len(node.Spec.Taints) == 0 {
				taints = []corev1.Taint{{Key: corev1.TaintNodeOutOfService, Effect: corev1.TaintEffectNoExecute}}
			}
			return fmt.Sprintf("%s is tainted: %v", name, taints != nil), func(c cluster) {
				c.changeNode(name, func(n *corev1.Node) { n.Spec.Taints = taints })
			}
		case 2:
			if len(nodes) > 1 && !slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return p.Spec.NodeName == name }) {
				return name + " is deleted", func(c cluster) { c.removeNode(name) }
			}
		}
		// The kubelet says what it uses: what its pods want, or not yet, or still.
		var inUse []corev1.UniqueVolumeName
		for _, v := range []string{"a", "b", "shared"} {
			wanted := slices.ContainsFunc(pods, func(p *corev1.Pod) bool {
				return p.Spec.NodeName == name && p.Spec.Volumes[0].Name == v && p.Status.Phase != corev1.PodSucceeded
			})
			if wanted || slices.Contains(node.Status.VolumesInUse, attachtest.Unique(v)) && r.IntN(3) == 0 {
				inUse = append(inUse, attachtest.Unique(v))
			}
		}
		return fmt.Sprintf("%s uses %v", name, inUse), func(c cluster) {
			c.changeNode(name, func(n *corev1.Node) {
				n.Status.VolumesInUse, n.Status.Conditions[0].LastHeartbeatTime = inUse, beat
			})
		}
	case n == 16:
		for _, name := range []string{"node-1", "node-2"} {
			if !slices.ContainsFunc(nodes, func(n *corev1.Node) bool { return n.Name == name }) {
				return name + " comes", func(c cluster) { c.addNode(attachtest.Node(name)) }
			}
		}
	}
	if len(nodes) == 0 {
		return "nothing", func(cluster) {}
	}
	volume, on := []string{"a", "b", "shared"}[r.IntN(3)], nodes[r.IntN(len(nodes))].Name
	for _, p := range pods {
		// Of two nodes that want a volume which only one can have, upstream tries the one or the other first,
		// unless it is known to be attached.
		if other := p.Spec.NodeName; p.Spec.Volumes[0].Name == volume && volume != "shared" && other != on && p.Status.Phase != corev1.PodSucceeded &&
			!slices.ContainsFunc(nodes, func(n *corev1.Node) bool {
				return n.Name == other && slices.ContainsFunc(n.Status.VolumesAttached, func(a corev1.AttachedVolume) bool { return a.Name == attachtest.Unique(volume) })
			}) {
			on = other
		}
	}
	name := fmt.Sprintf("%s-%d", volume, r.Uint32())
	return name + " comes to " + on, func(c cluster) {
		p := attachtest.Pod(name, on, volume)
		p.UID = types.UID(name + "-uid")
		c.addPod(p)
	}
}

// ours is a cluster with our controller.
type ours struct {
	b *clienttest.Bench
	t *sim.Task
	c client.Interface
	p *sim.Process
}

// finalize gives every VolumeAttachment the driver's finalizer.
func (o *ours) finalize() {
	p := o.b.Kernel.NewProcess(trace.Lane{Component: "csi-attacher"})
	f := informer.NewFactory(p, p.Lane, o.c)
	loop := reconcile.NewLoop(reconcile.NewEnv(p, "csi-attacher", "csi-attacher", o.c, f, 1), "va", client.VolumeAttachments, func(run *reconcile.Run) error {
		va, err := client.Get[*storagev1.VolumeAttachment](run.T, o.c, client.VolumeAttachments, "", run.Name)
		if err != nil || len(va.Finalizers) > 0 || va.DeletionTimestamp != nil {
			return nil
		}
		va.Finalizers = []string{attachtest.Finalizer}
		_, err = client.Update(run.T, o.c, client.VolumeAttachments, "", va)
		return err
	})
	f.For(client.VolumeAttachments).AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) { loop.Add(t, informer.KeyOf(obj)) },
	})
	loop.Start()
	f.Start()
}

func (o *ours) addPod(p *corev1.Pod) {
	clienttest.Must(client.Create(o.t, o.c, client.Pods, "demo", p))
}

func (o *ours) changePod(name string, fn func(*corev1.Pod)) {
	p := clienttest.Must(client.Get[*corev1.Pod](o.t, o.c, client.Pods, "demo", name))
	fn(p)
	clienttest.Must(client.UpdateStatus(o.t, o.c, client.Pods, "demo", p))
}
func (o *ours) removePod(name string) { attachtest.End(o.t, o.c, name) }
func (o *ours) addNode(n *corev1.Node) {
	clienttest.Must(client.Create(o.t, o.c, client.Nodes, "", n))
}

func (o *ours) changeNode(name string, fn func(*corev1.Node)) {
	n := clienttest.Must(client.Get[*corev1.Node](o.t, o.c, client.Nodes, "", name))
	was := n.DeepCopy()
	fn(n)
	if cmp.Diff(was.Spec, n.Spec) != "" {
		clienttest.Must(client.Update(o.t, o.c, client.Nodes, "", n))
	} else {
		clienttest.Must(client.UpdateStatus(o.t, o.c, client.Nodes, "", n))
	}
}

func (o *ours) removeNode(name string) {
	_ = o.c.Delete(o.t, client.Nodes, "", name, metav1.DeleteOptions{})
}

func (o *ours) answer(name string, fn func(*storagev1.VolumeAttachment)) {
	va := clienttest.Must(client.Get[*storagev1.VolumeAttachment](o.t, o.c, client.VolumeAttachments, "", name))
	fn(va)
	clienttest.Must(client.UpdateStatus(o.t, o.c, client.VolumeAttachments, "", va))
}

func (o *ours) detached(name string) {
	va := clienttest.Must(client.Get[*storagev1.VolumeAttachment](o.t, o.c, client.VolumeAttachments, "", name))
	va.Finalizers = nil
	clienttest.Must(client.Update(o.t, o.c, client.VolumeAttachments, "", va))
}

func (o *ours) restart() {
	o.p.Kill()
	o.p = attachtest.Start(o.b)
}

func all[T runtime.Object](b *clienttest.Bench, r client.Resource) (out []T) {
	for _, o := range b.Objects(r) {
		out = append(out, o.(T))
	}
	return out
}

func (o *ours) pods() []*corev1.Pod   { return all[*corev1.Pod](o.b, client.Pods) }
func (o *ours) nodes() []*corev1.Node { return all[*corev1.Node](o.b, client.Nodes) }
func (o *ours) attachments() []*storagev1.VolumeAttachment {
	return all[*storagev1.VolumeAttachment](o.b, client.VolumeAttachments)
}

func (o *ours) happened() (out []string) {
	for _, e := range o.b.Events {
		if p, ok := e.Payload.(*trace.KubeEvent); ok && e.Kind == trace.EventRecorded {
			out = append(out, said(p.Regarding.Name, p.Type, p.Reason, p.Message))
		}
	}
	return out
}

// said is an Event; upstream names the pods that use a volume in any order.
func said(pod, kind, reason, message string) string {
	if before, users, ok := strings.Cut(message, "is already used by pod(s) "); ok {
		names := strings.Split(users, ", ")
		slices.Sort(names)
		message = before + "is already used by pod(s) " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s: %s %s %s", pod, kind, reason, strings.TrimPrefix(message, "(combined from similar events): "))
}

// theirs is a cluster with Kubernetes' controller: its caches, and what it asks of the API server, in
// memory. What changes is in the caches at once.
type theirs struct {
	mu sync.Mutex
	podCache, nodeCache, claims, volumes,
	csiNodes, drivers, vas *shared
	events []string
	stop   context.CancelFunc
	ended  sync.WaitGroup
}

// shared is a cache whose handlers hear of what a test does to it.
type shared struct {
	*upstreamtest.Cache
	handlers []cache.ResourceEventHandler
}

// AddEventHandlerWithOptions is [cache.SharedIndexInformer].
func (s *shared) AddEventHandlerWithOptions(h cache.ResourceEventHandler, _ cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	s.handlers = append(s.handlers, h)
	for _, o := range s.Indexer.List() {
		h.OnAdd(o, true)
	}
	return nil, nil
}

// put stores an object, and tells of it.
func (s *shared) put(obj metav1.Object) {
	key := cache.ObjectName{Namespace: obj.GetNamespace(), Name: obj.GetName()}.String()
	was, had, _ := s.Indexer.GetByKey(key)
	_ = s.Indexer.Add(obj)
	for _, h := range s.handlers {
		if had {
			h.OnUpdate(was, obj)
		} else {
			h.OnAdd(obj, false)
		}
	}
}

func (s *shared) remove(key string) {
	was, had, _ := s.Indexer.GetByKey(key)
	if !had {
		return
	}
	_ = s.Indexer.Delete(was)
	for _, h := range s.handlers {
		h.OnDelete(was)
	}
}

func listed[T metav1.Object](s *shared) (out []T) {
	for _, o := range s.Indexer.List() {
		out = append(out, o.(T))
	}
	slices.SortFunc(out, func(a, b T) int { return strings.Compare(a.GetName(), b.GetName()) })
	return out
}

func get[T any](s *shared, key string) T {
	o, _, _ := s.Indexer.GetByKey(key)
	return o.(T)
}

func newTheirs() *theirs {
	c := &theirs{}
	for _, s := range []**shared{&c.podCache, &c.nodeCache, &c.claims, &c.volumes, &c.csiNodes, &c.drivers, &c.vas} {
		*s = &shared{Cache: upstreamtest.NewCache()}
	}
	return c
}

// start starts the controller, in goroutines.
func (c *theirs) start() {
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	ctl, err := upstream.NewAttachDetachController(ctx, api{c: c},
		podInformer{c.podCache}, nodeInformer{c.nodeCache}, claimInformer{c.claims}, volumeInformer{c.volumes},
		csiNodeInformer{c.csiNodes}, driverInformer{c.drivers}, attachmentInformer{c.vas},
		csi.ProbeVolumePlugins(), nil, false, time.Minute, false, upstream.DefaultTimerConfig)
	if err != nil {
		panic(err)
	}
	c.ended.Go(func() { ctl.Run(ctx) })
	time.Sleep(time.Second)
}

// end ends it, and waits for what it has begun.
func (c *theirs) end() {
	c.stop()
	for _, s := range []*shared{c.podCache, c.nodeCache, c.claims, c.volumes, c.csiNodes, c.drivers, c.vas} {
		s.handlers = nil
	}
	c.ended.Wait()
	time.Sleep(3 * time.Minute)
}

func (c *theirs) restart() {
	c.stop()
	for _, s := range []*shared{c.podCache, c.nodeCache, c.claims, c.volumes, c.csiNodes, c.drivers, c.vas} {
		s.handlers = nil
	}
	c.ended.Wait()
	c.start()
}

func (c *theirs) lock() func() { c.mu.Lock(); return c.mu.Unlock }

func (c *theirs) addPod(p *corev1.Pod) { defer c.lock()(); c.podCache.put(p) }
func (c *theirs) changePod(name string, fn func(*corev1.Pod)) {
	defer c.lock()()
	p := get[*corev1.Pod](c.podCache, "demo/"+name).DeepCopy()
	fn(p)
	c.podCache.put(p)
}
func (c *theirs) removePod(name string)  { defer c.lock()(); c.podCache.remove("demo/" + name) }
func (c *theirs) addNode(n *corev1.Node) { defer c.lock()(); c.nodeCache.put(n) }
func (c *theirs) changeNode(name string, fn func(*corev1.Node)) {
	defer c.lock()()
	n := get[*corev1.Node](c.nodeCache, name).DeepCopy()
	fn(n)
	c.nodeCache.put(n)
}
func (c *theirs) removeNode(name string) { defer c.lock()(); c.nodeCache.remove(name) }
func (c *theirs) answer(name string, fn func(*storagev1.VolumeAttachment)) {
	defer c.lock()()
	va := get[*storagev1.VolumeAttachment](c.vas, name).DeepCopy()
	fn(va)
	c.vas.put(va)
}
func (c *theirs) detached(name string)  { defer c.lock()(); c.vas.remove(name) }
func (c *theirs) pods() []*corev1.Pod   { return listed[*corev1.Pod](c.podCache) }
func (c *theirs) nodes() []*corev1.Node { return listed[*corev1.Node](c.nodeCache) }
func (c *theirs) attachments() []*storagev1.VolumeAttachment {
	return listed[*storagev1.VolumeAttachment](c.vas)
}
func (c *theirs) happened() []string { defer c.lock()(); return slices.Clone(c.events) }

// api is the connection of Kubernetes' controller.
type api struct {
	clientset.Interface
	c *theirs
}

func (a api) CoreV1() coreclient.CoreV1Interface          { return core{c: a.c} }
func (a api) StorageV1() storageclient.StorageV1Interface { return storage{c: a.c} }

type core struct {
	coreclient.CoreV1Interface
	c *theirs
}

func (a core) Nodes() coreclient.NodeInterface         { return nodeAPI{c: a.c} }
func (a core) Events(string) coreclient.EventInterface { return eventAPI{c: a.c} }

type storage struct {
	storageclient.StorageV1Interface
	c *theirs
}

func (a storage) VolumeAttachments() storageclient.VolumeAttachmentInterface {
	return attachmentAPI{c: a.c}
}

type nodeAPI struct {
	coreclient.NodeInterface
	c *theirs
}

func (a nodeAPI) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Node, error) {
	defer a.c.lock()()
	if o, ok, _ := a.c.nodeCache.Indexer.GetByKey(name); ok {
		return o.(*corev1.Node), nil
	}
	return nil, apierrors.NewNotFound(client.Nodes.GroupResource(), name)
}

func (a nodeAPI) Patch(_ context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (*corev1.Node, error) {
	defer a.c.lock()()
	o, ok, _ := a.c.nodeCache.Indexer.GetByKey(name)
	if !ok {
		return nil, apierrors.NewNotFound(client.Nodes.GroupResource(), name)
	}
	before, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	after, err := strategicpatch.StrategicMergePatch(before, data, corev1.Node{})
	if err != nil {
		return nil, err
	}
	n := &corev1.Node{}
	if err := json.Unmarshal(after, n); err != nil {
		return nil, err
	}
	if again, err := json.Marshal(n); err != nil || !bytes.Equal(before, again) { // else it is no change
		a.c.nodeCache.put(n)
	}
	return n, nil
}

type attachmentAPI struct {
	storageclient.VolumeAttachmentInterface
	c *theirs
}

func (a attachmentAPI) Create(_ context.Context, va *storagev1.VolumeAttachment, _ metav1.CreateOptions) (*storagev1.VolumeAttachment, error) {
	defer a.c.lock()()
	if _, had, _ := a.c.vas.Indexer.GetByKey(va.Name); had {
		return nil, apierrors.NewAlreadyExists(client.VolumeAttachments.GroupResource(), va.Name)
	}
	va = va.DeepCopy()
	va.Finalizers = []string{attachtest.Finalizer}
	a.c.vas.put(va)
	return va, nil
}

func (a attachmentAPI) Get(_ context.Context, name string, _ metav1.GetOptions) (*storagev1.VolumeAttachment, error) {
	defer a.c.lock()()
	if o, ok, _ := a.c.vas.Indexer.GetByKey(name); ok {
		return o.(*storagev1.VolumeAttachment), nil
	}
	return nil, apierrors.NewNotFound(client.VolumeAttachments.GroupResource(), name)
}

func (a attachmentAPI) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	defer a.c.lock()()
	o, ok, _ := a.c.vas.Indexer.GetByKey(name)
	if !ok {
		return apierrors.NewNotFound(client.VolumeAttachments.GroupResource(), name)
	}
	va := o.(*storagev1.VolumeAttachment).DeepCopy()
	now := metav1.Now()
	va.DeletionTimestamp = &now
	a.c.vas.put(va)
	return nil
}

type eventAPI struct {
	coreclient.EventInterface
	c *theirs
}

func (a eventAPI) CreateWithEventNamespace(e *corev1.Event) (*corev1.Event, error) {
	defer a.c.lock()()
	a.c.events = append(a.c.events, said(e.InvolvedObject.Name, e.Type, e.Reason, e.Message))
	return e, nil
}

func (a eventAPI) PatchWithEventNamespace(e *corev1.Event, _ []byte) (*corev1.Event, error) {
	return a.CreateWithEventNamespace(e)
}

// The caches as client-go's informers.
type (
	podInformer        struct{ *shared }
	nodeInformer       struct{ *shared }
	claimInformer      struct{ *shared }
	volumeInformer     struct{ *shared }
	csiNodeInformer    struct{ *shared }
	driverInformer     struct{ *shared }
	attachmentInformer struct{ *shared }
)

func (i podInformer) Informer() cache.SharedIndexInformer        { return i.shared }
func (i nodeInformer) Informer() cache.SharedIndexInformer       { return i.shared }
func (i claimInformer) Informer() cache.SharedIndexInformer      { return i.shared }
func (i volumeInformer) Informer() cache.SharedIndexInformer     { return i.shared }
func (i csiNodeInformer) Informer() cache.SharedIndexInformer    { return i.shared }
func (i driverInformer) Informer() cache.SharedIndexInformer     { return i.shared }
func (i attachmentInformer) Informer() cache.SharedIndexInformer { return i.shared }

func (i podInformer) Lister() corelisters.PodLister   { return corelisters.NewPodLister(i.Indexer) }
func (i nodeInformer) Lister() corelisters.NodeLister { return corelisters.NewNodeLister(i.Indexer) }
func (i claimInformer) Lister() corelisters.PersistentVolumeClaimLister {
	return corelisters.NewPersistentVolumeClaimLister(i.Indexer)
}

func (i volumeInformer) Lister() corelisters.PersistentVolumeLister {
	return corelisters.NewPersistentVolumeLister(i.Indexer)
}

func (i csiNodeInformer) Lister() storagelisters.CSINodeLister {
	return storagelisters.NewCSINodeLister(i.Indexer)
}

func (i driverInformer) Lister() storagelisters.CSIDriverLister {
	return storagelisters.NewCSIDriverLister(i.Indexer)
}

func (i attachmentInformer) Lister() storagelisters.VolumeAttachmentLister {
	return storagelisters.NewVolumeAttachmentLister(i.Indexer)
}
