package scheduler

import (
	"slices"
	"time"

	"github.com/tidwall/btree"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache"
	"k8s.io/klog/v2"

	"kviz/cluster/client"
	"kviz/cluster/informer"
	"kviz/cluster/scheduler/framework"
	"kviz/cluster/scheduler/plugins/dynamicresources"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// devices is what the plugin DynamicResources reads: the claims, the devices that drivers publish, and the
// classes of them. Each kind is watched once the cluster has had an object of it; until then there is none.
type devices struct {
	process              *sim.Process
	claims, slices       *informer.Informer
	classes, rules       *informer.Informer
	all                  *dynamicresources.Claims
	tainted              btree.Map[string, *resourcev1.ResourceSlice] // with the taints of rules
	extended             *extendedresourcecache.ExtendedResourceCache
	claimChanged, sliced func(t *sim.Task, old, new runtime.Object)
}

func newDevices(p *sim.Process, of func(client.Resource) *informer.Informer) *devices {
	d := &devices{
		process: p, claims: of(client.ResourceClaims), slices: of(client.ResourceSlices), classes: of(client.DeviceClasses), rules: of(client.DeviceTaintRules),
		extended: extendedresourcecache.NewExtendedResourceCache(klog.Background()),
	}
	d.all = dynamicresources.NewClaims(
		func(key string) *resourcev1.ResourceClaim {
			o, _ := d.claims.Get(key)
			c, _ := o.(*resourcev1.ResourceClaim)
			return c
		},
		func(t *sim.Task, old, new *resourcev1.ResourceClaim) {
			d.claimChanged(t, orNothing(old), orNothing(new))
		},
	)
	return d
}

// orNothing is an object that is there, or nil.
func orNothing[T any, P interface {
	*T
	runtime.Object
}](o P) runtime.Object {
	if o == nil {
		return nil
	}
	return o
}

func (d *devices) informers() []*informer.Informer {
	return []*informer.Informer{d.claims, d.slices, d.classes, d.rules}
}

// tells gives a function that tells the queue of a change.
func tells(q *schedulingQueue, r framework.EventResource) func(t *sim.Task, old, new runtime.Object) {
	return func(t *sim.Task, old, new runtime.Object) {
		action := framework.Update
		switch {
		case old == nil:
			action = framework.Add
		case new == nil:
			action = framework.Delete
		}
		q.happened(t, event(r, action), old, new)
	}
}

// handles has an informer call fn for each change.
func handles(i *informer.Informer, fn func(t *sim.Task, old, new runtime.Object)) {
	i.AddHandler(informer.Handler{
		Add:    func(t *sim.Task, o runtime.Object, _ trace.ID) { fn(t, nil, o) },
		Update: func(t *sim.Task, old, o runtime.Object, _ trace.ID) { fn(t, old, o) },
		Delete: func(t *sim.Task, o runtime.Object, _ trace.ID) { fn(t, o, nil) },
	})
}

// addHandlers tells the queue of what may help a pod with claims. Of a claim it learns when the API server has
// answered, which may be before the informer sees it.
//
// Mirrors pkg/scheduler/eventhandlers.go.
func (d *devices) addHandlers(q *schedulingQueue) {
	d.claimChanged, d.sliced = tells(q, framework.ResourceClaim), tells(q, framework.ResourceSlice)
	handles(d.claims, func(t *sim.Task, old, new runtime.Object) {
		if new == nil {
			d.all.Gone(t, old.(*resourcev1.ResourceClaim))
			return
		}
		d.all.Seen(t, new.(*resourcev1.ResourceClaim))
	})
	classChanged := tells(q, framework.DeviceClass)
	handles(d.classes, func(t *sim.Task, old, new runtime.Object) {
		switch {
		case old == nil:
			d.extended.OnAdd(new, false)
		case new == nil:
			d.extended.OnDelete(old)
		default:
			d.extended.OnUpdate(old, new)
		}
		classChanged(t, old, new)
	})
	handles(d.slices, func(t *sim.Task, old, new runtime.Object) {
		if new == nil {
			name := old.(*resourcev1.ResourceSlice).Name
			was, _ := d.tainted.Delete(name)
			d.sliced(t, orNothing(was), nil)
			return
		}
		d.taint(t, new.(*resourcev1.ResourceSlice), true)
	})
	handles(d.rules, func(t *sim.Task, old, new runtime.Object) {
		for _, o := range d.slices.List() {
			slice := o.(*resourcev1.ResourceSlice)
			if matches(old, slice, "") || matches(new, slice, "") {
				d.taint(t, slice, false)
			}
		}
	})
}

// taint applies the rules to a slice. A change of a rule is told of only if a taint differs.
//
// Mirrors k8s.io/dynamic-resource-allocation/resourceslice/tracker syncSlice and applyPatches.
func (d *devices) taint(t *sim.Task, slice *resourcev1.ResourceSlice, told bool) {
	is := slice
	for _, o := range d.rules.List() {
		for i := range slice.Spec.Devices {
			if !matches(o, slice, slice.Spec.Devices[i].Name) {
				continue
			}
			if is == slice {
				is = slice.DeepCopy()
			}
			is.Spec.Devices[i].Taints = append(is.Spec.Devices[i].Taints, o.(*resourcev1.DeviceTaintRule).Spec.Taint)
		}
	}
	was, known := d.tainted.Set(slice.Name, is)
	if known {
		told = told || len(was.Spec.Devices) != len(is.Spec.Devices) // the slice itself is about to be told of
	}
	if !told && known {
		for i := range is.Spec.Devices {
			told = told || !slices.EqualFunc(was.Spec.Devices[i].Taints, is.Spec.Devices[i].Taints, func(a, b resourcev1.DeviceTaint) bool {
				return a.Key == b.Key && a.Effect == b.Effect && a.Value == b.Value && a.TimeAdded.Equal(b.TimeAdded)
			})
		}
	}
	if told || !known {
		d.sliced(t, orNothing(was), is)
	}
}

// matches reports whether a rule selects a device of a slice, or any where the device has no name here.
func matches(rule runtime.Object, slice *resourcev1.ResourceSlice, device string) bool {
	r, ok := rule.(*resourcev1.DeviceTaintRule)
	if !ok || r.Spec.DeviceSelector == nil {
		return false
	}
	is := func(want *string, is string) bool { return want == nil || *want == is }
	s := r.Spec.DeviceSelector
	return is(s.Driver, slice.Spec.Driver) && is(s.Pool, slice.Spec.Pool.Name) && (device == "" || is(s.Device, device))
}

// ResourceClaims are all claims.
func (d *devices) ResourceClaims() *dynamicresources.Claims { return d.all }

// DeviceClass is the class of a name.
func (d *devices) DeviceClass(name string) (*resourcev1.DeviceClass, error) {
	return find[*resourcev1.DeviceClass](d.classes, informer.Key("", name), resourcev1.Resource("deviceclass"), name)
}

// DeviceClasses are all classes.
func (d *devices) DeviceClasses() []*resourcev1.DeviceClass {
	return listed[*resourcev1.DeviceClass](d.classes.List())
}

// DeviceClassOf is the class that stands for an extended resource, nil if none does.
func (d *devices) DeviceClassOf(name corev1.ResourceName) *resourcev1.DeviceClass {
	return d.extended.GetDeviceClass(name)
}

// ResourceSlices are what drivers publish, with the taints of rules.
func (d *devices) ResourceSlices() []*resourcev1.ResourceSlice { return d.tainted.Values() }

// claiming is what the plugin DynamicResources asks.
type claiming struct {
	*objects
	s *Scheduler
}

// Now is the virtual time.
func (c claiming) Now() time.Time { return c.s.process.Kernel().Now() }

// Eventf records an Event about a pod.
func (c claiming) Eventf(t *sim.Task, pod *corev1.Pod, reason, action, note string, args ...any) {
	c.s.profileOf(pod).events.Eventf(t, pod, nil, corev1.EventTypeNormal, reason, action, note, args...)
}
