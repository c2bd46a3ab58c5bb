package devicetainteviction_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/devicetainteviction"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

const driver = "gpu.example.com"

func start(b *clienttest.Bench) *sim.Process {
	c := b.Client()
	p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
	f := informer.NewFactory(p, p.Lane, c)
	devicetainteviction.New(reconcile.NewEnv(p, devicetainteviction.Name, devicetainteviction.Name, c, f, 1)).Start()
	f.Start()
	return p
}

// pod is one on a node that has a claim.
func pod(name, claim string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name},
		Spec:       corev1.PodSpec{NodeName: "node-1", TerminationGracePeriodSeconds: ptr.To[int64](0), ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &claim}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

// claim is one that has a device of node-1, and is reserved for pods.
func claim(name, device string, tolerations []resourcev1.DeviceToleration, pods ...*corev1.Pod) *resourcev1.ResourceClaim {
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}}
	c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
		Results: []resourcev1.DeviceRequestAllocationResult{{Request: "gpu", Driver: driver, Pool: "node-1", Device: device, Tolerations: tolerations}},
	}}
	for _, p := range pods {
		c.Status.ReservedFor = append(c.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: p.Name, UID: p.UID})
	}
	return c
}

func tolerate(seconds *int64) []resourcev1.DeviceToleration {
	return []resourcev1.DeviceToleration{{Key: "fan", Operator: resourcev1.DeviceTolerationOpExists, Effect: resourcev1.DeviceTaintEffectNoExecute, TolerationSeconds: seconds}}
}

func slice(devices ...resourcev1.Device) *resourcev1.ResourceSlice {
	return &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "node-1-gpu"},
		Spec:       resourcev1.ResourceSliceSpec{Driver: driver, NodeName: ptr.To("node-1"), Pool: resourcev1.ResourcePool{Name: "node-1", Generation: 1, ResourceSliceCount: 1}, Devices: devices},
	}
}

func broken(t *sim.Task, effect resourcev1.DeviceTaintEffect) resourcev1.DeviceTaint {
	return resourcev1.DeviceTaint{Key: "fan", Value: "broken", Effect: effect, TimeAdded: ptr.To(client.Now(t))}
}

func rule(name, device string, t resourcev1.DeviceTaint) *resourcev1.DeviceTaintRule {
	return &resourcev1.DeviceTaintRule{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       resourcev1.DeviceTaintRuleSpec{DeviceSelector: &resourcev1.DeviceTaintSelector{Driver: ptr.To(driver), Device: &device}, Taint: t},
	}
}

// Pods go at once, after the time for which their claims tolerate a taint of a device, or never; a
// taint that goes in time takes the plan along. A rule's status says how far it is.
func TestPodsGoWhenTheirDevicesAreTainted(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		clienttest.Must(client.Create(t, c, client.ResourceSlices, "", slice(resourcev1.Device{Name: "gpu-0"}, resourcev1.Device{Name: "gpu-1"}, resourcev1.Device{Name: "gpu-2"})))
		start(b)
		for _, of := range []struct {
			name, device string
			tolerations  []resourcev1.DeviceToleration
		}{{"none", "gpu-0", nil}, {"minute", "gpu-0", tolerate(ptr.To[int64](60))}, {"for-ever", "gpu-0", tolerate(nil)}, {"elsewhere", "gpu-1", nil}} {
			p := clienttest.Must(client.Create(t, c, client.Pods, "demo", pod(of.name, of.name)))
			clienttest.Must(client.Create(t, c, client.ResourceClaims, "demo", claim(of.name, of.device, of.tolerations, p)))
		}
		t.Sleep(time.Second)
		clienttest.Note(t, "an administrator asks what NoExecute would do")
		clienttest.Must(client.Create(t, c, client.DeviceTaintRules, "", rule("ask", "gpu-0", broken(t, resourcev1.DeviceTaintEffectNone))))
		t.Sleep(time.Minute)
		clienttest.Note(t, "and does it")
		clienttest.Must(client.Create(t, c, client.DeviceTaintRules, "", rule("fan", "gpu-0", broken(t, resourcev1.DeviceTaintEffectNoExecute))))
		t.Sleep(30 * time.Second)
		clienttest.Note(t, "the fan runs again before the minute is over")
		clienttest.Must(0, c.Delete(t, client.DeviceTaintRules, "", "fan", metav1.DeleteOptions{}))
		t.Sleep(time.Minute)
		clienttest.Note(t, "the driver finds it broken too")
		s := slice(resourcev1.Device{Name: "gpu-0", Taints: []resourcev1.DeviceTaint{broken(t, resourcev1.DeviceTaintEffectNoExecute)}}, resourcev1.Device{Name: "gpu-1"}, resourcev1.Device{Name: "gpu-2"})
		clienttest.Must(client.Update(t, c, client.ResourceSlices, "", s))
		t.Sleep(2 * time.Minute)
		clienttest.Note(t, "a pod comes to the device late, with a claim of its own that has another such device as well")
		late := clienttest.Must(client.Create(t, c, client.Pods, "demo", pod("late", "late")))
		both := claim("late", "gpu-0", nil, late)
		both.Status.Allocation.Devices.Results = append(both.Status.Allocation.Devices.Results, claim("", "gpu-2", nil).Status.Allocation.Devices.Results...)
		clienttest.Must(client.Create(t, c, client.DeviceTaintRules, "", rule("old", "gpu-2", broken(t, resourcev1.DeviceTaintEffectNoExecute))))
		t.Sleep(time.Second)
		clienttest.Must(client.Create(t, c, client.ResourceClaims, "demo", both))
		t.Sleep(time.Minute)
	})
	clienttest.Golden(t, "life.txt", b.Transcript(trace.ReconcileAction, trace.ReconcileEnd, trace.EventRecorded, trace.CommandStart))
	var left []string
	for _, o := range b.Objects(client.Pods) {
		left = append(left, o.(*corev1.Pod).Name)
	}
	if len(left) != 2 || left[0] != "elsewhere" || left[1] != "for-ever" {
		t.Errorf("the pods %v are left, want elsewhere and for-ever", left)
	}
}

// A pod that another has the name of meanwhile stays, and one whose deletion fails is tried again.
func TestOnlyThePodThatWasMeantGoes(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		start(b)
		was := clienttest.Must(client.Create(t, c, client.Pods, "demo", pod("train", "one")))
		clienttest.Must(client.Create(t, c, client.ResourceClaims, "demo", claim("one", "gpu-0", tolerate(ptr.To[int64](60)), was)))
		clienttest.Must(client.Create(t, c, client.DeviceTaintRules, "", rule("fan", "gpu-0", broken(t, resourcev1.DeviceTaintEffectNoExecute))))
		t.Sleep(10 * time.Second)
		clienttest.Must(0, c.Delete(t, client.Pods, "demo", "train", metav1.DeleteOptions{}))
		clienttest.Must(client.Create(t, c, client.Pods, "demo", pod("train", "one"))) // the claim is reserved for another
		t.Sleep(5 * time.Minute)
	})
	if n := len(b.Objects(client.Pods)); n != 1 {
		t.Errorf("%d pods are left, want the new one", n)
	}
	for _, e := range b.Events {
		if a, ok := e.Payload.(*trace.Action); ok && a.Verb == "delete" {
			t.Errorf("deleted: %s", a.Why)
		}
	}
}
