package proof

// Beside the stories, in which two whole clusters do the same and what differs by milliseconds is not
// compared, the controller that binds claims is compared key by key: upstream's own code looks at each
// key that the one here looks at. It is here because it takes a module that kviz has no use for.

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientset "k8s.io/client-go/kubernetes"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	kubecache "k8s.io/client-go/tools/cache"
	kuberecord "k8s.io/client-go/tools/record"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/klog/v2"
	upstream "k8s.io/kubernetes/pkg/controller/volume/persistentvolume"
	"k8s.io/kubernetes/pkg/util/goroutinemap"
	kubevolume "k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/hostpath"
	"k8s.io/kubernetes/pkg/volume/nfs"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/persistentvolume"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/upstreamtest"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// What a worker of upstream's controller does with a key, and what it does first of all.

//go:linkname syncClaimByKey k8s.io/kubernetes/pkg/controller/volume/persistentvolume.(*PersistentVolumeController).syncClaimByKey
func syncClaimByKey(*upstream.PersistentVolumeController, context.Context, string) error

//go:linkname syncVolumeByKey k8s.io/kubernetes/pkg/controller/volume/persistentvolume.(*PersistentVolumeController).syncVolumeByKey
func syncVolumeByKey(*upstream.PersistentVolumeController, context.Context, string) error

//go:linkname initializeCaches k8s.io/kubernetes/pkg/controller/volume/persistentvolume.(*PersistentVolumeController).initializeCaches
func initializeCaches(*upstream.PersistentVolumeController, klog.Logger, corelisters.PersistentVolumeLister, corelisters.PersistentVolumeClaimLister)

// Upstream's informers, which hold what the informers of the controller here hold.
type (
	held          struct{ *upstreamtest.Cache }
	volumesOfKube struct{ held }
	claimsOfKube  struct{ held }
	classesOfKube struct{ held }
)

func (held) AddEventHandlerWithOptions(kubecache.ResourceEventHandler, kubecache.HandlerOptions) (kubecache.ResourceEventHandlerRegistration, error) {
	return nil, nil
}

func (i volumesOfKube) Informer() kubecache.SharedIndexInformer { return i }
func (i claimsOfKube) Informer() kubecache.SharedIndexInformer  { return i }
func (i classesOfKube) Informer() kubecache.SharedIndexInformer { return i }
func (i volumesOfKube) Lister() corelisters.PersistentVolumeLister {
	return corelisters.NewPersistentVolumeLister(i.Indexer)
}

func (i claimsOfKube) Lister() corelisters.PersistentVolumeClaimLister {
	return corelisters.NewPersistentVolumeClaimLister(i.Indexer)
}

func (i classesOfKube) Lister() storagelisters.StorageClassLister {
	return storagelisters.NewStorageClassLister(i.Indexer)
}

// kube is the API server that upstream's controller writes to: a copy of the one here, as it was
// before the key was looked at.
type kube struct {
	clientset.Interface
	objects  map[string]runtime.Object
	revision int64
	now      time.Time
}

type (
	coreOfKube struct {
		coreclient.CoreV1Interface
		*kube
	}
	volumeWrites struct {
		coreclient.PersistentVolumeInterface
		*kube
	}
	claimWrites struct {
		coreclient.PersistentVolumeClaimInterface
		*kube
		namespace string
	}
)

func (k *kube) CoreV1() coreclient.CoreV1Interface { return coreOfKube{kube: k} }
func (c coreOfKube) PersistentVolumes() coreclient.PersistentVolumeInterface {
	return volumeWrites{kube: c.kube}
}

func (c coreOfKube) PersistentVolumeClaims(ns string) coreclient.PersistentVolumeClaimInterface {
	return claimWrites{kube: c.kube, namespace: ns}
}

func (coreOfKube) Events(string) coreclient.EventInterface { return upstreamtest.Events{} }

func keyIn(r client.Resource, namespace, name string) string {
	return r.Kind + " " + informer.Key(namespace, name)
}

func (k *kube) get(r client.Resource, namespace, name string) (runtime.Object, error) {
	if o := k.objects[keyIn(r, namespace, name)]; o != nil {
		return o.DeepCopyObject(), nil
	}
	return nil, apierrors.NewNotFound(r.GroupResource(), name)
}

// update is what clienttest's server does.
func (k *kube) update(r client.Resource, obj runtime.Object, status bool) (runtime.Object, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	old, err := k.get(r, m.GetNamespace(), m.GetName())
	if err != nil {
		return nil, err
	}
	om := old.(metav1.Object)
	if om.GetResourceVersion() != m.GetResourceVersion() {
		return nil, apierrors.NewConflict(r.GroupResource(), m.GetName(), fmt.Errorf("the object has been modified"))
	}
	now := obj.DeepCopyObject()
	field := func(o runtime.Object) reflect.Value { return reflect.ValueOf(o).Elem().FieldByName("Status") }
	if status {
		now = old.DeepCopyObject()
		now.(metav1.Object).SetAnnotations(m.GetAnnotations())
		field(now).Set(field(obj.DeepCopyObject()))
	} else {
		field(now).Set(field(old))
	}
	if reflect.DeepEqual(old, now) {
		return now, nil
	}
	k.revision++
	now.(metav1.Object).SetResourceVersion(strconv.FormatInt(k.revision, 10))
	key := keyIn(r, m.GetNamespace(), m.GetName())
	if k.objects[key] = now; m.GetDeletionTimestamp() != nil && len(m.GetFinalizers()) == 0 {
		delete(k.objects, key)
	}
	return now.DeepCopyObject(), nil
}

func typedUpdate[T runtime.Object](o runtime.Object, err error) (T, error) {
	if err != nil {
		var zero T
		return zero, err
	}
	return o.(T), nil
}

func (w volumeWrites) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.PersistentVolume, error) {
	return typedUpdate[*corev1.PersistentVolume](w.get(client.PersistentVolumes, "", name))
}

func (w volumeWrites) Update(_ context.Context, v *corev1.PersistentVolume, _ metav1.UpdateOptions) (*corev1.PersistentVolume, error) {
	return typedUpdate[*corev1.PersistentVolume](w.update(client.PersistentVolumes, v, false))
}

func (w volumeWrites) UpdateStatus(_ context.Context, v *corev1.PersistentVolume, _ metav1.UpdateOptions) (*corev1.PersistentVolume, error) {
	return typedUpdate[*corev1.PersistentVolume](w.update(client.PersistentVolumes, v, true))
}

func (w volumeWrites) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	v, err := typedUpdate[*corev1.PersistentVolume](w.get(client.PersistentVolumes, "", name))
	if err != nil || len(v.Finalizers) > 0 && v.DeletionTimestamp != nil {
		return err
	}
	w.revision++
	if delete(w.objects, keyIn(client.PersistentVolumes, "", name)); len(v.Finalizers) > 0 {
		v.DeletionTimestamp, v.ResourceVersion = &metav1.Time{Time: w.now.Truncate(time.Second)}, strconv.FormatInt(w.revision, 10)
		w.objects[keyIn(client.PersistentVolumes, "", name)] = v
	}
	return nil
}

func (w claimWrites) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.PersistentVolumeClaim, error) {
	return typedUpdate[*corev1.PersistentVolumeClaim](w.get(client.PersistentVolumeClaims, w.namespace, name))
}

func (w claimWrites) Update(_ context.Context, c *corev1.PersistentVolumeClaim, _ metav1.UpdateOptions) (*corev1.PersistentVolumeClaim, error) {
	return typedUpdate[*corev1.PersistentVolumeClaim](w.update(client.PersistentVolumeClaims, c, false))
}

func (w claimWrites) UpdateStatus(_ context.Context, c *corev1.PersistentVolumeClaim, _ metav1.UpdateOptions) (*corev1.PersistentVolumeClaim, error) {
	return typedUpdate[*corev1.PersistentVolumeClaim](w.update(client.PersistentVolumeClaims, c, true))
}

// told are the Events that upstream's controller records, each once.
type told map[string]bool

func recorded(kind, name, eventtype, reason, message string) string {
	return fmt.Sprintf("%s %s: %s %s: %s", kind, name, eventtype, reason, message)
}

func (e told) Event(obj runtime.Object, eventtype, reason, message string) {
	r, _ := client.ResourceOf(obj)
	e[recorded(r.Kind, obj.(metav1.Object).GetName(), eventtype, reason, message)] = true
}

func (e told) Eventf(obj runtime.Object, eventtype, reason, format string, args ...any) {
	e.Event(obj, eventtype, reason, fmt.Sprintf(format, args...))
}

func (e told) AnnotatedEventf(obj runtime.Object, _ map[string]string, eventtype, reason, format string, args ...any) {
	e.Eventf(obj, eventtype, reason, format, args...)
}
func (e told) WithLogger(klog.Logger) kuberecord.EventRecorderLogger { return e }

// silent is a connection that loses Events, so that the revisions of both servers are those of
// claims and volumes alone.
type silent struct{ client.Interface }

func (s silent) Create(t *sim.Task, r client.Resource, ns string, obj runtime.Object) (runtime.Object, error) {
	if r == client.Events {
		return obj, nil
	}
	return s.Interface.Create(t, r, ns, obj)
}

func (s silent) Patch(t *sim.Task, r client.Resource, ns, name string, pt types.PatchType, data []byte, sub string) (runtime.Object, error) {
	if r == client.Events {
		return &corev1.Event{}, nil
	}
	return s.Interface.Patch(t, r, ns, name, pt, data, sub)
}

// pair runs upstream's controller beside the one here: each key that the one here looks at the
// other does too, on the same caches and the same server, and both write the same.
type pair struct {
	b                              *clienttest.Bench
	informers                      *informer.Factory
	theirs                         *upstream.PersistentVolumeController // nil before the first key
	kube                           *kube
	volumes, claims, classes, pods *upstreamtest.Cache
	events                         told
	runs                           int
	differs                        string // the first difference

	busy bool
	free sim.Cond
}

// alone has one at a time look at a key, or change the world.
func (s *pair) alone(t *sim.Task, do func()) {
	for s.busy {
		s.free.Wait(t)
	}
	s.busy = true
	do()
	s.busy = false
	s.free.Signal()
}

var compared = []client.Resource{client.PersistentVolumes, client.PersistentVolumeClaims}

func (s *pair) start() *sim.Process {
	p := s.b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
	c := silent{s.b.Client()}
	s.informers, s.theirs = informer.NewFactory(p, p.Lane, c), nil
	env := reconcile.NewEnv(p, persistentvolume.Name, persistentvolume.Source, c, s.informers, 1)
	env.Around = func(queue string, sync reconcile.Sync) reconcile.Sync {
		return func(run *reconcile.Run) (err error) {
			s.alone(run.T, func() {
				s.before()
				err = sync(run)
				s.after(queue, run.Key, err)
			})
			return err
		}
	}
	persistentvolume.New(env).Start()
	s.informers.Start()
	return p
}

// before gives upstream's controller what the one here begins with.
func (s *pair) before() {
	first := s.theirs == nil
	if first {
		s.volumes, s.claims, s.classes, s.pods = upstreamtest.NewCache(), upstreamtest.NewCache(), upstreamtest.NewCache(), upstreamtest.NewCache()
	}
	s.volumes.Hold(s.informers.For(client.PersistentVolumes).List()...)
	s.claims.Hold(s.informers.For(client.PersistentVolumeClaims).List()...)
	s.classes.Hold(s.informers.For(client.StorageClasses).List()...)
	s.pods.Hold(s.informers.For(client.Pods).List()...)
	if first {
		s.kube = &kube{}
		s.make()
	}
	s.kube.objects, s.kube.revision, s.kube.now = map[string]runtime.Object{}, s.b.Revision(), s.b.Kernel.Now()
	for _, r := range compared {
		for _, o := range s.b.Objects(r) {
			m := o.(metav1.Object)
			s.kube.objects[keyIn(r, m.GetNamespace(), m.GetName())] = o
		}
	}
}

func (s *pair) make() {
	config := kubevolume.VolumeConfig{RecyclerPodTemplate: kubevolume.NewPersistentVolumeRecyclerPodTemplate()}
	var err error
	s.theirs, err = upstream.NewController(context.Background(), upstream.ControllerParameters{
		KubeClient: s.kube, SyncPeriod: time.Hour, VolumePlugins: slices.Concat(hostpath.ProbeVolumePlugins(config), nfs.ProbeVolumePlugins(config)),
		VolumeInformer: volumesOfKube{held{s.volumes}}, ClaimInformer: claimsOfKube{held{s.claims}}, ClassInformer: classesOfKube{held{s.classes}},
		PodInformer: upstreamtest.Pods{Cache: s.pods}, NodeInformer: upstreamtest.Nodes{Cache: upstreamtest.NewCache()}, EnableDynamicProvisioning: true,
	})
	if err != nil {
		panic(err)
	}
	*upstreamtest.Field[kuberecord.EventRecorder](s.theirs, "eventRecorder") = s.events
	initializeCaches(s.theirs, klog.Logger{}, volumesOfKube{held{s.volumes}}.Lister(), claimsOfKube{held{s.claims}}.Lister())
}

// after has upstream's controller look at the key, and compares what both have written.
func (s *pair) after(queue, key string, err error) {
	// A new map forgets the back-off, which goes by the machine's clock.
	operations := upstreamtest.Field[goroutinemap.GoRoutineMap](s.theirs, "runningOperations")
	*operations = goroutinemap.NewGoRoutineMap(false)
	sync := syncClaimByKey
	if queue == "volumes" {
		sync = syncVolumeByKey
	}
	s.runs++
	ctx := klog.NewContext(context.Background(), klog.Logger{})
	theirs := sync(s.theirs, ctx, key)
	(*operations).Wait()
	var want, got []runtime.Object
	for _, name := range slices.Sorted(maps.Keys(s.kube.objects)) {
		want = append(want, s.kube.objects[name])
	}
	for _, r := range []client.Resource{client.PersistentVolumes, client.PersistentVolumeClaims} {
		got = append(got, s.b.Objects(r)...)
	}
	if d := cmp.Diff(written(want), written(got)); s.differs == "" && (d != "" || (err == nil) != (theirs == nil)) {
		s.differs = fmt.Sprintf("run %d, %s %s: errors %v upstream, %v here; -upstream +here:\n%s", s.runs, queue, key, theirs, err, d)
	}
}

// written are objects as text, without their generations, which the server of kube does not count.
func written(objs []runtime.Object) []string {
	var out []string
	for _, o := range objs {
		o = o.DeepCopyObject()
		o.(metav1.Object).SetGeneration(0)
		data, err := json.MarshalIndent(o, "", " ")
		if err != nil {
			panic(err)
		}
		out = append(out, string(data))
	}
	slices.Sort(out)
	return out
}

// In random worlds, through whatever happens in them, the controller here writes the same as
// upstream's at each key, and records the same Events; and no volume is ever of two claims, nor
// a claim of two volumes.
func TestWritesWhatUpstreamWrites(t *testing.T) {
	klog.SetLogger(klog.Logger{}) // upstream tells of each operation that fails
	upstreamtest.Check(t, "100", func(r *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(anyHappening), 4, 24).Draw(r, "steps")
		s := &pair{events: told{}}
		clienttest.Run(r, 1, func(b *clienttest.Bench, t *sim.Task) {
			s.b = b
			for _, c := range []*storagev1.StorageClass{
				classOf("now", "disks.example.com", storagev1.VolumeBindingImmediate), classOf("wait", "disks.example.com", storagev1.VolumeBindingWaitForFirstConsumer),
				classOf("local", "kubernetes.io/no-provisioner", storagev1.VolumeBindingWaitForFirstConsumer), classOf("ebs", "kubernetes.io/aws-ebs", storagev1.VolumeBindingImmediate),
				classOf("path", "kubernetes.io/host-path", storagev1.VolumeBindingImmediate),
			} {
				clienttest.Must(client.Create(t, b.Client(), client.StorageClasses, "", c))
			}
			p := s.start()
			for _, step := range steps {
				s.alone(t, func() {
					if step.do == "restart" {
						p.Kill()
						p = s.start()
					}
					step.run(t, b.Client())
					t.Sleep(10 * time.Millisecond) // the informers have seen it
				})
				t.Sleep(step.wait)
			}
			t.Sleep(time.Minute)
		})
		if s.differs != "" {
			r.Fatal(s.differs)
		}
		here := told{}
		for _, e := range s.b.Events {
			if k, ok := e.Payload.(*trace.KubeEvent); ok {
				here[recorded(k.Regarding.Kind, k.Regarding.Name, k.Type, k.Reason, k.Message)] = true
			}
		}
		if d := cmp.Diff(slices.Sorted(maps.Keys(s.events)), slices.Sorted(maps.Keys(here))); d != "" {
			r.Fatalf("Events: -upstream +here:\n%s", d)
		}
		if bad := oneToOne(s.b); bad != "" {
			r.Fatal(bad)
		}
	})
}

// oneToOne says which claims that are Bound share a volume, or have one that is another's.
func oneToOne(b *clienttest.Bench) string {
	of := map[string]string{}
	for _, o := range b.Objects(client.PersistentVolumeClaims) {
		c := o.(*corev1.PersistentVolumeClaim)
		if c.Status.Phase != corev1.ClaimBound || c.Status.Capacity == nil {
			continue // or it was created as Bound, and nothing else is known of it
		}
		if other := of[c.Spec.VolumeName]; other != "" {
			return fmt.Sprintf("volume %s is of claims %s and %s", c.Spec.VolumeName, other, c.Name)
		}
		of[c.Spec.VolumeName] = c.Name
		v, _ := b.Object(client.PersistentVolumes, "", c.Spec.VolumeName).(*corev1.PersistentVolume)
		if v == nil || v.Spec.ClaimRef == nil || v.Spec.ClaimRef.UID != c.UID {
			return fmt.Sprintf("claim %s is Bound to volume %s, which is not its own", c.Name, c.Spec.VolumeName)
		}
	}
	return ""
}

// happening is something that happens.
type happening struct {
	do     string
	name   string
	volume *corev1.PersistentVolume
	claim  *corev1.PersistentVolumeClaim
	uid    bool // claimRef has the UID of the claim that there is
	wait   time.Duration
}

var (
	someSizes   = []string{"1Gi", "2Gi", "3Gi"}
	someModes   = [][]corev1.PersistentVolumeAccessMode{{corev1.ReadWriteOnce}, {corev1.ReadWriteOnce, corev1.ReadOnlyMany}, {corev1.ReadWriteMany}, {corev1.ReadWriteOncePod}}
	someClasses = []string{"", "", "", "now", "wait", "local", "ebs", "path", "missing"}
)

func anyHappening(r *rapid.T) happening {
	pick := func(what string, from ...string) string { return rapid.SampledFrom(from).Draw(r, what) }
	oneIn := func(n int, what string) bool { return rapid.IntRange(1, n).Draw(r, what) == 1 }
	s := happening{
		do: pick("do", "volume", "volume", "volume", "claim", "claim", "claim", "delete volume", "delete claim", "unbind volume", "unfinish claim", "select node",
			"pod", "pod ends", "default class", "restart", "nothing", "policy"),
		wait: rapid.SampledFrom([]time.Duration{0, time.Millisecond, time.Second, 16 * time.Second}).Draw(r, "wait"),
	}
	switch s.do {
	case "volume", "delete volume", "unbind volume", "policy":
		s.name = pick("volume", "v1", "v2", "v3", "v4")
	default:
		s.name = pick("claim", "c1", "c2", "c3")
	}
	switch s.do {
	case "volume":
		s.volume = disk(s.name, pick("size", someSizes...), func(v *corev1.PersistentVolume) {
			v.Spec.AccessModes = rapid.SampledFrom(someModes).Draw(r, "modes")
			v.Spec.StorageClassName = pick("class", someClasses...)
			v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimPolicy(pick("policy", "Retain", "Delete", "Delete"))
			if oneIn(6, "block") {
				v.Spec.VolumeMode = ptr.To(corev1.PersistentVolumeBlock)
			}
			if oneIn(3, "labels") {
				v.Labels = map[string]string{"tier": "gold"}
			}
			if oneIn(6, "attributes") {
				v.Spec.VolumeAttributesClassName = ptr.To("gold")
			}
			switch pick("source", "path", "tmp", "local", "csi", "csi") {
			case "tmp":
				v.Spec.HostPath.Path = "/tmp/kviz-no-such-volume-" + s.name
			case "local":
				v.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/mnt"}}
				v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimPolicy(pick("policy of local", "Retain", "Delete", "Recycle", "Shred"))
			case "csi":
				v.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "disks.example.com", VolumeHandle: s.name}}
			}
			if oneIn(3, "made") {
				metav1.SetMetaDataAnnotation(&v.ObjectMeta, volume.AnnDynamicallyProvisioned, pick("made by", "disks.example.com", "kubernetes.io/aws-ebs", "kubernetes.io/host-path", "kubernetes.io/gone"))
			}
			if oneIn(4, "migrated") {
				metav1.SetMetaDataAnnotation(&v.ObjectMeta, volume.AnnMigratedTo, "disks.example.com")
			}
			if oneIn(2, "reserved") {
				v.Spec.ClaimRef = &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: "demo", Name: pick("for", "c1", "c2", "c3")}
				s.uid = oneIn(2, "uid")
				if oneIn(3, "bound by") {
					metav1.SetMetaDataAnnotation(&v.ObjectMeta, volume.AnnBoundByController, "yes")
				}
			}
			v.Status.Phase = corev1.PersistentVolumePhase(pick("phase", "Pending", "Pending", "Available", "Bound", "Released", "Failed"))
			if oneIn(8, "finalizer") {
				v.Finalizers = []string{pick("of", volume.PVDeletionInTreeProtectionFinalizer, volume.PVDeletionProtectionFinalizer)}
			}
		})
	case "claim":
		s.claim = claimOf(s.name, pick("size", someSizes...), func(c *corev1.PersistentVolumeClaim) {
			c.Spec.AccessModes = rapid.SampledFrom(someModes).Draw(r, "modes")
			c.Spec.StorageClassName = ptr.To(pick("class", someClasses...))
			if oneIn(6, "silent") {
				c.Spec.StorageClassName = nil
			}
			if oneIn(6, "block") {
				c.Spec.VolumeMode = ptr.To(corev1.PersistentVolumeBlock)
			}
			if oneIn(4, "selector") {
				c.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}
			}
			if oneIn(6, "attributes") {
				c.Spec.VolumeAttributesClassName = ptr.To("gold")
			}
			if oneIn(4, "asks") {
				c.Spec.VolumeName = pick("for", "v1", "v2", "v3", "v4")
			}
			for _, a := range []string{volume.AnnBindCompleted, volume.AnnBoundByController, volume.AnnSelectedNode} {
				if oneIn(8, a) {
					metav1.SetMetaDataAnnotation(&c.ObjectMeta, a, "yes")
				}
			}
			c.Status.Phase = corev1.PersistentVolumeClaimPhase(pick("phase", "Pending", "Pending", "Pending", "Bound", "Lost"))
		})
	}
	return s
}

func size(s string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(s)}
}

// disk is a volume that nobody has.
func disk(name, capacity string, change func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:               size(capacity),
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/mnt/" + name}},
		},
	}
	change(v)
	return v
}

// claimOf asks for a volume.
func claimOf(name, request string, change func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name},
		Spec:       corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{Requests: size(request)}},
	}
	change(c)
	return c
}

func classOf(name, provisioner string, mode storagev1.VolumeBindingMode) *storagev1.StorageClass {
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: &mode, ReclaimPolicy: ptr.To(corev1.PersistentVolumeReclaimDelete)}
}

// run has it happen, if it can.
func (s happening) run(t *sim.Task, c client.Interface) {
	changeClaim := func(fn func(*corev1.PersistentVolumeClaim)) {
		if is, err := client.Get[*corev1.PersistentVolumeClaim](t, c, client.PersistentVolumeClaims, "demo", s.name); err == nil {
			fn(is)
			clienttest.Must(client.Update(t, c, client.PersistentVolumeClaims, "demo", is))
		}
	}
	changeVolume := func(fn func(*corev1.PersistentVolume)) {
		if v, err := client.Get[*corev1.PersistentVolume](t, c, client.PersistentVolumes, "", s.name); err == nil {
			fn(v)
			clienttest.Must(client.Update(t, c, client.PersistentVolumes, "", v))
		}
	}
	switch s.do {
	case "volume":
		v := s.volume.DeepCopy()
		if s.uid {
			v.Spec.ClaimRef.UID = "of-another"
			if is, err := client.Get[*corev1.PersistentVolumeClaim](t, c, client.PersistentVolumeClaims, "demo", v.Spec.ClaimRef.Name); err == nil {
				v.Spec.ClaimRef.UID = is.UID
			}
		}
		_, _ = client.Create(t, c, client.PersistentVolumes, "", v)
	case "claim":
		_, _ = client.Create(t, c, client.PersistentVolumeClaims, "demo", s.claim.DeepCopy())
	case "delete volume":
		_ = c.Delete(t, client.PersistentVolumes, "", s.name, metav1.DeleteOptions{})
	case "delete claim":
		_ = c.Delete(t, client.PersistentVolumeClaims, "demo", s.name, metav1.DeleteOptions{})
	case "unbind volume":
		changeVolume(func(v *corev1.PersistentVolume) { v.Spec.ClaimRef = nil })
	case "policy":
		changeVolume(func(v *corev1.PersistentVolume) {
			v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
		})
	case "unfinish claim":
		changeClaim(func(c *corev1.PersistentVolumeClaim) { delete(c.Annotations, volume.AnnBindCompleted) })
	case "select node":
		changeClaim(func(c *corev1.PersistentVolumeClaim) {
			metav1.SetMetaDataAnnotation(&c.ObjectMeta, volume.AnnSelectedNode, "node-1")
		})
	case "pod":
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "of-" + s.name}}
		p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: s.name}}}}
		_, _ = client.Create(t, c, client.Pods, "demo", p)
	case "pod ends":
		if p, err := client.Get[*corev1.Pod](t, c, client.Pods, "demo", "of-"+s.name); err == nil {
			p.Status.Phase = corev1.PodSucceeded
			clienttest.Must(client.UpdateStatus(t, c, client.Pods, "demo", p))
		}
	case "default class":
		usual := classOf("usual", "disks.example.com", storagev1.VolumeBindingImmediate)
		usual.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
		_, _ = client.Create(t, c, client.StorageClasses, "", usual)
	}
}

func (s happening) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s, then %s", s.do, s.name, s.wait))
}
