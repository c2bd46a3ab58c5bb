package upstream_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	kubedynamicresources "k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/scheduler/framework"
	"kviz/cluster/scheduler/plugins/dynamicresources"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// deviceManager is upstream's on the claims and classes of a world. It takes down what is reserved.
type deviceManager struct {
	*kubedynamicresources.DefaultDRAManager
	fwk.ResourceClaimTracker
	slices   []*resourcev1.ResourceSlice
	reserved []*resourcev1.ResourceClaim
}

// source is the informer of an assume cache.
type source struct{ to cache.ResourceEventHandler }

func (s *source) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	s.to = h
	return nil, nil
}

func newDeviceManager(w *world, factory informers.SharedInformerFactory) *deviceManager {
	informer := &source{}
	claims := assumecache.NewAssumeCache(klog.Background(), informer, "ResourceClaim", "", nil)
	fill(factory.Resource().V1().DeviceClasses().Informer(), w.deviceClasses)
	m := &deviceManager{DefaultDRAManager: kubedynamicresources.NewDRAManager(context.Background(), claims, nil, factory)}
	m.ResourceClaimTracker = m.DefaultDRAManager.ResourceClaims()
	for _, c := range w.resourceClaims {
		c = c.DeepCopy()
		if c.ResourceVersion == "" {
			c.ResourceVersion = "1"
		}
		informer.to.OnAdd(c, true)
	}
	for _, c := range w.deviceClasses {
		m.DeviceClassResolver().(*extendedresourcecache.ExtendedResourceCache).OnAdd(c, true)
	}
	m.slices = tainted(w)
	return m
}

// tainted are the slices with the taints of rules.
func tainted(w *world) (all []*resourcev1.ResourceSlice) {
	is := func(want *string, is string) bool { return want == nil || *want == is }
	for _, s := range w.slices {
		s = s.DeepCopy()
		for _, r := range w.taintRules {
			sel := r.Spec.DeviceSelector
			for i := range s.Spec.Devices {
				if d := &s.Spec.Devices[i]; sel != nil && is(sel.Driver, s.Spec.Driver) && is(sel.Pool, s.Spec.Pool.Name) && is(sel.Device, d.Name) {
					d.Taints = append(d.Taints, r.Spec.Taint)
				}
			}
		}
		all = append(all, s)
	}
	return all
}

func (m *deviceManager) ResourceClaims() fwk.ResourceClaimTracker { return m }
func (m *deviceManager) ResourceSlices() fwk.ResourceSliceLister  { return m }
func (m *deviceManager) List() ([]*resourcev1.ResourceClaim, error) {
	return m.ResourceClaimTracker.List()
}

func (m *deviceManager) ListWithDeviceTaintRules() ([]*resourcev1.ResourceSlice, error) {
	return m.slices, nil
}

func (m *deviceManager) SignalClaimPendingAllocation(uid types.UID, claim *resourcev1.ResourceClaim) error {
	m.reserved = append(m.reserved, claim)
	return m.ResourceClaimTracker.SignalClaimPendingAllocation(uid, claim)
}

// gate is why upstream's PreEnqueue keeps the pod out of the active queue.
func (k *kubernetes) gate(pod *corev1.Pod) string {
	return k.plugin(names.DynamicResources).(fwk.PreEnqueuePlugin).PreEnqueue(context.Background(), pod).Message()
}

// gatedBy is why it is kept out here.
func gatedBy(events []*trace.Event, pod string) string {
	for _, e := range events {
		if p, ok := e.Payload.(*trace.ExtensionPoint); ok && p.Pod == pod && p.Point == framework.PreEnqueue {
			return p.Note
		}
	}
	return ""
}

// sameDevices compares what upstream reserves on the node with what the claims have got here.
func (k *kubernetes) sameDevices(t *testing.T, where string, c *cycle, pod *corev1.Pod, d *trace.Decision, b *clienttest.Bench) int {
	t.Helper()
	pl := k.plugin(names.DynamicResources).(fwk.ReservePlugin)
	if st := pl.Reserve(context.Background(), c.state, pod, d.Node); !st.IsSuccess() {
		t.Errorf("%s, %s: upstream does not reserve: %s", where, pod.Name, st.Message())
		return 0
	}
	var told []trace.ClaimedDevice
	for _, g := range d.Devices {
		if !g.Before {
			told = append(told, g)
		}
	}
	var reserved int
	for _, want := range k.devices.reserved {
		got := claimNow(b, pod, want)
		if got == nil || got.Status.Allocation == nil {
			if now := b.Object(client.Pods, pod.Namespace, pod.Name).(*corev1.Pod); now.Spec.NodeName != "" {
				t.Errorf("%s, %s: upstream allocates %s, here nobody does", where, pod.Name, want.Name)
			}
			continue
		}
		if diff := cmp.Diff(want.Spec.Devices.Requests, got.Spec.Devices.Requests); diff != "" {
			t.Errorf("%s, %s: requests of %s (-upstream +here):\n%s", where, pod.Name, want.Name, diff)
		}
		if diff := cmp.Diff(plainly(want.Status.Allocation), plainly(got.Status.Allocation)); diff != "" {
			t.Errorf("%s, %s: allocation of %s (-upstream +here):\n%s", where, pod.Name, want.Name, diff)
		}
		reserved += len(want.Status.Allocation.Devices.Results)
	}
	all := 0
	for _, want := range k.devices.reserved {
		all += len(want.Status.Allocation.Devices.Results)
	}
	if len(told) != all {
		t.Errorf("%s, %s: the decision tells of %d devices, upstream reserves %d", where, pod.Name, len(told), all)
	}
	return reserved
}

// claimNow is a claim as the API server has it. The one for extended resources has got a name since.
func claimNow(b *clienttest.Bench, pod *corev1.Pod, c *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	for _, o := range b.Objects(client.ResourceClaims) {
		is := o.(*resourcev1.ResourceClaim)
		special := strings.HasPrefix(c.Name, "<") && metav1.IsControlledBy(is, pod) && is.Annotations[resourcev1.ExtendedResourceClaimAnnotation] == "true"
		if is.Namespace == c.Namespace && (is.Name == c.Name || special) {
			return is
		}
	}
	return nil
}

// plainly is an allocation without what is drawn or read off a clock.
func plainly(a *resourcev1.AllocationResult) *resourcev1.AllocationResult {
	a = a.DeepCopy()
	a.AllocationTimestamp = nil
	for i := range a.Devices.Results {
		if r := &a.Devices.Results[i]; r.ShareID != nil {
			r.ShareID = new(types.UID)
		}
	}
	return a
}

// dynamicResources is this scheduler's plugin on a world.
func (h *here) dynamicResources() *dynamicresources.DynamicResources {
	return dynamicresources.New(h, nil, time.Minute)
}

func (h *here) ResourceClaims() *dynamicresources.Claims {
	all := dynamicresources.NewClaims(nil, func(*sim.Task, *resourcev1.ResourceClaim, *resourcev1.ResourceClaim) {})
	for _, c := range h.resourceClaims {
		all.Seen(nil, c)
	}
	return all
}

func (h *here) DeviceClass(name string) (*resourcev1.DeviceClass, error) {
	for _, c := range h.deviceClasses {
		if c.Name == name {
			return c, nil
		}
	}
	return nil, apierrors.NewNotFound(resourcev1.Resource("deviceclass"), name)
}

func (h *here) DeviceClassOf(name corev1.ResourceName) *resourcev1.DeviceClass {
	for _, c := range h.deviceClasses {
		if e := c.Spec.ExtendedResourceName; e != nil && *e == string(name) || resourcev1.ResourceDeviceClassPrefix+c.Name == string(name) {
			return c
		}
	}
	return nil
}

func (h *here) DeviceClasses() []*resourcev1.DeviceClass                      { return h.deviceClasses }
func (h *here) ResourceSlices() []*resourcev1.ResourceSlice                   { return tainted(h.world) }
func (h *here) Now() time.Time                                                { return time.Unix(1000, 0) }
func (h *here) Eventf(*sim.Task, *corev1.Pod, string, string, string, ...any) {}

// deviceEvents are about two states of each object that has to do with devices.
func (d *dice) deviceEvents(events map[framework.EventResource][][2]runtime.Object) {
	was, is := d.world(), d.world()
	changes(events, framework.ResourceClaim, was.resourceClaims, is.resourceClaims)
	changes(events, framework.DeviceClass, was.deviceClasses, is.deviceClasses)
	changes(events, framework.ResourceSlice, was.slices, is.slices)
}

const driver = "gpu.example.com"

// addDevices has nodes have GPUs, some in parts, and the cluster a switch that several nodes reach.
func (d *dice) addDevices(w *world) {
	class := func(name, selector string) *resourcev1.DeviceClass {
		c := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if selector != "" {
			c.Spec.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: selector}}}
		}
		return c
	}
	gpu := class("gpu", fmt.Sprintf("device.driver == %q", driver))
	if !d.one(4) {
		gpu.Spec.ExtendedResourceName = new("example.com/gpu")
	}
	w.deviceClasses = []*resourcev1.DeviceClass{
		gpu, class("big", fmt.Sprintf("device.driver == %q && device.attributes[%q].model == 'big'", driver, driver)), class("any", ""), class("switch", "device.driver == 'switch.example.com'"),
	}
	if d.one(2) {
		w.deviceClasses[1].Spec.Config = []resourcev1.DeviceClassConfiguration{{DeviceConfiguration: resourcev1.DeviceConfiguration{
			Opaque: &resourcev1.OpaqueDeviceConfiguration{Driver: driver, Parameters: runtime.RawExtension{Raw: []byte(`{"a":1}`)}},
		}}}
	}
	for _, n := range w.nodes {
		if d.one(4) {
			continue
		}
		s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: n.Name + "-gpu"}, Spec: resourcev1.ResourceSliceSpec{
			Driver: driver, NodeName: &n.Name, Pool: resourcev1.ResourcePool{Name: n.Name, Generation: 1, ResourceSliceCount: 1},
		}}
		if d.one(12) {
			s.Spec.Pool.ResourceSliceCount = 2 // one is missing
		}
		for i := range d.IntN(4) {
			s.Spec.Devices = append(s.Spec.Devices, d.device(i))
		}
		if d.one(3) && s.Spec.Pool.ResourceSliceCount == 1 { // two parts of one card, the whole of which is a device too
			counters := func(n int64) map[string]resourcev1.Counter {
				return map[string]resourcev1.Counter{"memory": {Value: *resource.NewQuantity(n, resource.DecimalSI)}}
			}
			s.Spec.Pool.ResourceSliceCount = 2
			w.slices = append(w.slices, &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: n.Name + "-counters"}, Spec: resourcev1.ResourceSliceSpec{
				Driver: driver, NodeName: &n.Name, Pool: s.Spec.Pool, SharedCounters: []resourcev1.CounterSet{{Name: "card", Counters: counters(2)}},
			}})
			for i, name := range []string{"whole", "part-0", "part-1"} {
				part := d.device(7 + i)
				part.Name = name
				part.ConsumesCounters = []resourcev1.DeviceCounterConsumption{{CounterSet: "card", Counters: counters(of[int64](d, 1, 2))}}
				s.Spec.Devices = append(s.Spec.Devices, part)
			}
		}
		w.slices = append(w.slices, s)
	}
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "switch"}, Spec: resourcev1.ResourceSliceSpec{
		Driver: "switch.example.com", Pool: resourcev1.ResourcePool{Name: "rack", Generation: 1, ResourceSliceCount: 1},
		Devices: []resourcev1.Device{{Name: "port-0"}, {Name: "port-1"}},
	}}
	switch d.IntN(3) {
	case 0:
		yes := true
		s.Spec.AllNodes = &yes
	case 1:
		s.Spec.NodeSelector = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{"x", "y"}}},
		}}}
	default:
		yes := true
		s.Spec.PerDeviceNodeSelection = &yes
		s.Spec.Devices[0].AllNodes, s.Spec.Devices[1].NodeName = &yes, &w.nodes[0].Name
	}
	if d.one(2) { // a port that is ready only when its driver says so
		s.Spec.Devices[1].BindingConditions, s.Spec.Devices[1].BindingFailureConditions = []string{"attached"}, []string{"failed"}
	}
	w.slices = append(w.slices, s)
	if d.one(4) {
		w.taintRules = append(w.taintRules, &resourcev1.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: "broken"}, Spec: resourcev1.DeviceTaintRuleSpec{
			DeviceSelector: &resourcev1.DeviceTaintSelector{Driver: new(driver), Device: new("gpu-0")},
			Taint:          resourcev1.DeviceTaint{Key: "broken", Effect: resourcev1.DeviceTaintEffectNoSchedule, TimeAdded: &metav1.Time{Time: time.Unix(1, 0)}},
		}})
	}
	for i := range 8 {
		w.resourceClaims = append(w.resourceClaims, d.resourceClaim(i, w))
	}
}

func (d *dice) device(i int) resourcev1.Device {
	dev := resourcev1.Device{Name: fmt.Sprintf("gpu-%d", i), Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
		"model": {StringValue: new(of(d, "big", "small"))}, "numa": {IntValue: new(of[int64](d, 0, 1))},
	}}
	dev.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: quantity(of(d, "8Gi", "16Gi"))}}
	if d.one(4) {
		yes := true
		dev.AllowMultipleAllocations = &yes
		dev.Capacity["memory"] = resourcev1.DeviceCapacity{Value: quantity("16Gi"), RequestPolicy: of(d, nil, &resourcev1.CapacityRequestPolicy{
			Default: new(quantity("4Gi")), ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: new(quantity("2Gi")), Step: new(quantity("2Gi"))},
		})}
	}
	if d.one(8) {
		dev.Taints = []resourcev1.DeviceTaint{{Key: "worn", Value: "out", Effect: of(d, resourcev1.DeviceTaintEffectNoSchedule, resourcev1.DeviceTaintEffectNoExecute), TimeAdded: &metav1.Time{Time: time.Unix(1, 0)}}}
	}
	return dev
}

func (d *dice) exactly() *resourcev1.ExactDeviceRequest {
	r := &resourcev1.ExactDeviceRequest{DeviceClassName: of(d, "gpu", "gpu", "big", "any", "switch"), AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: of[int64](d, 1, 1, 2)}
	if d.one(30) {
		r.DeviceClassName = "gone"
	}
	if d.one(8) {
		r.AllocationMode, r.Count = resourcev1.DeviceAllocationModeAll, 0
	}
	if d.one(10) {
		yes := true
		r.AdminAccess = &yes
	}
	if d.one(3) {
		r.Selectors = d.selectors()
	}
	if d.one(4) {
		r.Tolerations = []resourcev1.DeviceToleration{{Key: of(d, "worn", "broken"), Operator: resourcev1.DeviceTolerationOpExists}}
	}
	if d.one(5) {
		r.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{"memory": quantity(of(d, "3Gi", "8Gi", "12Gi"))}}
	}
	return r
}

func (d *dice) selectors() []resourcev1.DeviceSelector {
	expression := of(d, fmt.Sprintf("device.attributes[%q].model == 'small'", driver), fmt.Sprintf("device.driver == %q && device.attributes[%q].numa == 0", driver, driver),
		fmt.Sprintf("device.driver == %q && device.capacity[%q].memory.compareTo(quantity('10Gi')) >= 0", driver, driver), "device.allowMultipleAllocations == true")
	if d.one(12) {
		expression = "device.attributes['nobody.example.com'].model == 'big'" // an error at every device
	}
	return []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}}
}

func (d *dice) resourceClaim(i int, w *world) *resourcev1.ResourceClaim {
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: fmt.Sprintf("r%d", i), UID: types.UID(fmt.Sprintf("r%d", i))}}
	for j := range 1 + d.IntN(2) {
		r := resourcev1.DeviceRequest{Name: fmt.Sprintf("q%d", j)}
		if d.one(3) {
			for k := range 2 {
				e := d.exactly()
				r.FirstAvailable = append(r.FirstAvailable, resourcev1.DeviceSubRequest{
					Name: fmt.Sprintf("s%d", k), DeviceClassName: e.DeviceClassName, Selectors: e.Selectors, AllocationMode: e.AllocationMode, Count: e.Count, Tolerations: e.Tolerations, Capacity: e.Capacity,
				})
			}
		} else {
			r.Exactly = d.exactly()
		}
		c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, r)
	}
	if d.one(4) {
		name := resourcev1.FullyQualifiedName(driver + "/" + of(d, "model", "numa"))
		if d.one(3) {
			c.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{{DistinctAttribute: &name}}
		} else {
			c.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{{MatchAttribute: &name}}
		}
	}
	if d.one(5) {
		c.Spec.Devices.Config = []resourcev1.DeviceClaimConfiguration{{DeviceConfiguration: resourcev1.DeviceConfiguration{
			Opaque: &resourcev1.OpaqueDeviceConfiguration{Driver: driver, Parameters: runtime.RawExtension{Raw: []byte(`{"b":2}`)}},
		}}}
	}
	if d.one(3) {
		d.allocated(c, w)
	}
	if d.one(40) {
		c.DeletionTimestamp, c.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{resourcev1.Finalizer}
	}
	return c
}

// allocated has a claim have a device of some slice.
func (d *dice) allocated(c *resourcev1.ResourceClaim, w *world) {
	s := of(d, w.slices...)
	if len(s.Spec.Devices) == 0 {
		return
	}
	dev := of(d, s.Spec.Devices...)
	for _, other := range w.resourceClaims { // no other has it: a set of devices does not count how often
		if a := other.Status.Allocation; a != nil && a.Devices.Results[0].Pool == s.Spec.Pool.Name && a.Devices.Results[0].Device == dev.Name {
			return
		}
	}
	r := resourcev1.DeviceRequestAllocationResult{Request: "q0", Driver: s.Spec.Driver, Pool: s.Spec.Pool.Name, Device: dev.Name, BindingConditions: dev.BindingConditions, BindingFailureConditions: dev.BindingFailureConditions}
	if dev.AllowMultipleAllocations != nil {
		r.ShareID = new(types.UID(fmt.Sprintf("00000000-0000-4000-8000-00000000000%d", d.IntN(10))))
		r.ConsumedCapacity = map[resourcev1.QualifiedName]resource.Quantity{"memory": quantity("4Gi")}
	}
	c.Finalizers = []string{resourcev1.Finalizer}
	c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{r}}}
	if s.Spec.NodeName != nil {
		c.Status.Allocation.NodeSelector = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{*s.Spec.NodeName}}},
		}}}
	}
	if d.one(2) {
		c.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "other", UID: "other"}}
	}
	if len(r.BindingConditions) > 0 {
		status := metav1.ConditionTrue
		c.Status.Devices = []resourcev1.AllocatedDeviceStatus{{Driver: r.Driver, Pool: r.Pool, Device: r.Device, Conditions: []metav1.Condition{{
			Type: of(d, "attached", "attached", "failed"), Status: status, Reason: "Driver", LastTransitionTime: metav1.Unix(1, 0),
		}}}}
	}
}

// addClaims has a pod name claims, and request what a class stands for.
func (d *dice) addClaims(p *corev1.Pod) {
	p.Namespace = "demo"
	which := d.Perm(8)
	for i := range d.IntN(3) {
		c := corev1.PodResourceClaim{Name: fmt.Sprintf("dev%d", i)}
		name := fmt.Sprintf("r%d", which[i])
		switch {
		case d.one(40):
			name = "gone"
			fallthrough
		case !d.one(30):
			c.ResourceClaimName = &name
		default: // made from a template, or not yet, or on purpose not
			c.ResourceClaimTemplateName = new("template")
			if !d.one(3) {
				p.Status.ResourceClaimStatuses = append(p.Status.ResourceClaimStatuses, corev1.PodResourceClaimStatus{Name: c.Name, ResourceClaimName: of(d, nil, &name)})
			}
		}
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, c)
	}
	want := corev1.ResourceName(of(d, "", "", "", "example.com/gpu", resourcev1.ResourceDeviceClassPrefix+"big", "example.com/none"))
	if want != "" {
		if p.Spec.Containers[0].Resources.Requests == nil {
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{}
		}
		p.Spec.Containers[0].Resources.Requests[want] = quantity(of(d, "1", "1", "2", "0"))
		if d.one(3) {
			first := corev1.Container{Name: "first", Image: "web:1", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{want: quantity(of(d, "1", "3"))}}}
			if d.one(3) {
				always := corev1.ContainerRestartPolicyAlways
				first.RestartPolicy = &always
			}
			p.Spec.InitContainers = []corev1.Container{first}
		}
	}
}
