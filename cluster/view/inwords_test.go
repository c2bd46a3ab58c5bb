package view_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// What an object is for, and how much of it is used, where its fields do not say so.
func TestInWords(t *testing.T) {
	const wait, now = storagev1.VolumeBindingWaitForFirstConsumer, storagev1.VolumeBindingImmediate
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
	usual := classOf("standard", "disk.csi.kviz.dev", wait)
	usual.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
	usual.AllowVolumeExpansion = ptr.To(true)
	kept := classOf("kept", "disk.csi.kviz.dev", now)
	kept.ReclaimPolicy = ptr.To(corev1.PersistentVolumeReclaimRetain)
	drivers := &storagev1.CSINode{ObjectMeta: named("node-1"), Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "disk.csi.kviz.dev", Allocatable: &storagev1.VolumeNodeResources{Count: ptr.To(int32(16))}}}}}
	address := func(ip, service string) *networkingv1.IPAddress {
		return &networkingv1.IPAddress{ObjectMeta: named(ip), Spec: networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: "demo", Name: service}}}
	}
	allocated := &resourcev1.ResourceClaim{ObjectMeta: named("gpu")}
	allocated.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{Driver: "gpu.example.com", Pool: "node-1", Device: "gpu-0"}}}}
	allocated.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "web"}}
	for _, c := range []struct {
		resource, name string
		objects        []runtime.Object
		want           string
	}{
		{"storageclasses", "standard", []runtime.Object{usual, sized(inClass("standard"))}, "disk.csi.kviz.dev makes its volumes when the claim's first pod has a node; with the claim they go (Delete); claims may grow; claims that name no class get it; one claim has it, 0 Bound"},
		{"storageclasses", "kept", []runtime.Object{kept}, "disk.csi.kviz.dev makes its volumes at once; what is on them outlives the claim (Retain); no claim has it"},
		{"storageclasses", "local", []runtime.Object{classOf("local", "kubernetes.io/no-provisioner", now)}, "nobody makes its volumes: they have to be there; with the claim they go (Delete); no claim has it"},
		{"csinodes", "node-1", []runtime.Object{drivers, attachedTo("node-1", true, ""), attachedTo("node-2", true, "")}, "disk.csi.kviz.dev has registered with its kubelet, for 16 volumes at most; 1 attached"},
		{"csinodes", "node-2", []runtime.Object{&storagev1.CSINode{ObjectMeta: named("node-2")}}, "no storage driver has registered with its kubelet"},
		{"servicecidrs", "kubernetes", []runtime.Object{&networkingv1.ServiceCIDR{ObjectMeta: named("kubernetes"), Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.96.0.0/16"}}}, address("10.96.0.1", "a"), address("10.97.0.1", "b")}, "Services get their addresses from 10.96.0.0/16: 1 given so far"},
		{"ipaddresses", "10.96.0.9", []runtime.Object{address("10.96.0.9", "web")}, "it was the address of Service demo/web, which is gone"},
		{"ipaddresses", "10.96.0.9", []runtime.Object{address("10.96.0.9", "web"), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"}}}, "it is the address of Service demo/web"},
		{"resourceclaims", "gpu", []runtime.Object{allocated}, "it has gpu-0 of pool node-1 (gpu.example.com), reserved for web"},
		{"resourceclaims", "free", []runtime.Object{&resourcev1.ResourceClaim{ObjectMeta: named("free")}}, "no device is allocated to it: the scheduler does that when it places the first pod that uses it"},
		{"services", "web", []runtime.Object{&corev1.Service{ObjectMeta: named("web")}}, ""},
	} {
		s := standing(t, c.objects...)
		found := false
		for _, o := range s.Objects(c.resource, "") {
			if o.Name() == c.name {
				found = true
				if got := s.InWords(o); got != c.want {
					t.Errorf("%s %s: %q, want %q", c.resource, c.name, got, c.want)
				}
			}
		}
		if !found {
			t.Errorf("there is no %s %s", c.resource, c.name)
		}
	}
}
