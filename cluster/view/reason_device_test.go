package view_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// gpuPod is a pod that has the claim gpu, on a node.
func gpuPod(change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "train", UID: "train"}, Spec: corev1.PodSpec{NodeName: "node-1", ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: ptr.To("gpu")}}}}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if change != nil {
		change(p)
	}
	return p
}

// gpuClaim is its claim, which tolerates the taint fan so long; -1: not at all, 0: for ever.
func gpuClaim(seconds int64) *resourcev1.ResourceClaim {
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
	has := resourcev1.DeviceRequestAllocationResult{Driver: "gpu.example.com", Pool: "node-1", Device: "gpu-0"}
	if seconds >= 0 {
		tol := resourcev1.DeviceToleration{Key: "fan", Operator: resourcev1.DeviceTolerationOpExists, Effect: resourcev1.DeviceTaintEffectNoExecute}
		if seconds > 0 {
			tol.TolerationSeconds = &seconds
		}
		has.Tolerations = []resourcev1.DeviceToleration{tol}
	}
	c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{has}}}
	c.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "train", UID: "train"}}
	return c
}

func fan(effect resourcev1.DeviceTaintEffect) resourcev1.DeviceTaint {
	return resourcev1.DeviceTaint{Key: "fan", Value: "broken", Effect: effect, TimeAdded: &metav1.Time{Time: asked.Add(-30 * time.Second)}}
}

func fanRule(effect resourcev1.DeviceTaintEffect, change func(*resourcev1.DeviceTaintRule)) *resourcev1.DeviceTaintRule {
	r := &resourcev1.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: "fan"}, Spec: resourcev1.DeviceTaintRuleSpec{DeviceSelector: &resourcev1.DeviceTaintSelector{Device: ptr.To("gpu-0")}, Taint: fan(effect)}}
	if change != nil {
		change(r)
	}
	return r
}

// gpuSlice publishes two devices in a generation of the pool, the first with taints.
func gpuSlice(name string, generation int64, taints ...resourcev1.DeviceTaint) *resourcev1.ResourceSlice {
	return &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceSliceSpec{
		Driver: "gpu.example.com", Pool: resourcev1.ResourcePool{Name: "node-1", Generation: generation}, Devices: []resourcev1.Device{{Name: "gpu-0", Taints: taints}, {Name: "gpu-1"}},
	}}
}

// Why a pod goes or stays whose device is tainted, and what a rule does.
func TestReasonsOfTaintedDevices(t *testing.T) {
	const (
		none, execute, schedule = resourcev1.DeviceTaintEffectNone, resourcev1.DeviceTaintEffectNoExecute, resourcev1.DeviceTaintEffectNoSchedule
		has                     = "claim gpu has the device node-1/gpu-0 of gpu.example.com, which is tainted fan=broken:"
		off                     = "; but the device-taint-eviction-controller, which would delete it, does not run: the controller manager has not started yet"
	)
	evicted := func(p *corev1.Pod) {
		p.DeletionTimestamp = &metav1.Time{Time: asked}
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByDeviceTaintManager"})
	}
	for name, c := range map[string]struct {
		of      string // the kind and name that is asked about
		objects []runtime.Object
		want    string // "": none of tainted devices
	}{
		"a pod goes now": {
			"pods train",
			[]runtime.Object{gpuPod(nil), gpuClaim(-1), gpuSlice("a", 1), fanRule(execute, nil)},
			"Pod demo/train is to go now: its " + has + "NoExecute by the DeviceTaintRule fan, and does not tolerate that" + off,
		},
		"a pod goes later": {
			"pods train",
			[]runtime.Object{gpuPod(nil), gpuClaim(60), gpuSlice("a", 1, fan(execute))},
			"Pod demo/train is to go at 2026-01-01T12:10:30Z (in 30 s): its " + has + "NoExecute by its driver, in the ResourceSlice a, and tolerates that for 60 s" + off,
		},
		"the first of two taints counts": {
			"pods train",
			[]runtime.Object{gpuPod(nil), gpuClaim(60), gpuSlice("a", 1, fan(execute)), fanRule(execute, func(r *resourcev1.DeviceTaintRule) { r.Spec.Taint.Key = "old" })},
			"Pod demo/train is to go now: its claim gpu has the device node-1/gpu-0 of gpu.example.com, which is tainted old=broken:NoExecute by the DeviceTaintRule fan, and does not tolerate that" + off,
		},
		"a pod tolerates it": {
			"pods train",
			[]runtime.Object{gpuPod(nil), gpuClaim(0), gpuSlice("a", 1, fan(execute))},
			"Pod demo/train stays though a device is tainted: its " + has + "NoExecute by its driver, in the ResourceSlice a, and tolerates that",
		},
		"no pod goes because of NoSchedule": {
			"pods train",
			[]runtime.Object{gpuPod(nil), gpuClaim(-1), gpuSlice("a", 1), fanRule(schedule, nil)},
			"Pod demo/train stays though a device is tainted: its " + has + "NoSchedule by the DeviceTaintRule fan: such a taint drives no pod away",
		},
		"a slice of an old generation": {
			"pods train", []runtime.Object{gpuPod(nil), gpuClaim(-1), gpuSlice("a", 1, fan(execute)), gpuSlice("b", 2)}, "",
		},
		"a rule for another device": {
			"pods train", []runtime.Object{gpuPod(nil), gpuClaim(-1), fanRule(execute, func(r *resourcev1.DeviceTaintRule) { r.Spec.DeviceSelector.Pool = ptr.To("node-2") })}, "",
		},
		"a claim for another pod": {
			"pods train", []runtime.Object{gpuPod(func(p *corev1.Pod) { p.UID = "another" }), gpuClaim(-1), fanRule(execute, nil)}, "",
		},
		"an evicted pod": {
			"pods train",
			[]runtime.Object{gpuPod(evicted), gpuClaim(-1), fanRule(execute, nil)},
			"Pod demo/train was evicted by the device-taint-eviction-controller: its " + has + "NoExecute by the DeviceTaintRule fan, and does not tolerate that",
		},
		"an evicted pod, and the taint is gone": {
			"pods train",
			[]runtime.Object{gpuPod(evicted), gpuClaim(-1)},
			"Pod demo/train was evicted by the device-taint-eviction-controller: a device of its claims had a taint that they did not tolerate",
		},
		"the claim": {
			"resourceclaims gpu",
			[]runtime.Object{gpuPod(nil), gpuClaim(-1), fanRule(execute, nil)},
			"Claim gpu has the device node-1/gpu-0 of gpu.example.com, which is tainted fan=broken:NoExecute by the DeviceTaintRule fan, and does not tolerate that",
		},
		"a rule": {
			"devicetaintrules fan",
			[]runtime.Object{gpuPod(nil), gpuClaim(-1), gpuSlice("a", 1), fanRule(execute, nil)},
			"DeviceTaintRule fan gives the taint fan=broken:NoExecute to 1 published device; 1 pod with such a device is to go",
		},
		"a rule that drives nobody away": {
			"devicetaintrules fan",
			[]runtime.Object{gpuPod(nil), gpuClaim(-1), gpuSlice("a", 1), fanRule(none, nil)},
			"DeviceTaintRule fan gives the taint fan=broken:None to 1 published device; 1 pod with such a device may stay",
		},
		"a rule for nothing": {
			"devicetaintrules fan",
			[]runtime.Object{fanRule(execute, nil)},
			"DeviceTaintRule fan gives the taint fan=broken:NoExecute to 0 published devices; no pod has one of them",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := standing(t, c.objects...)
			kind, of, _ := strings.Cut(c.of, " ")
			namespace := "demo"
			if kind == "devicetaintrules" {
				namespace = ""
			}
			var got []string
			for _, r := range s.Reasons(s.Object(kind, namespace, of)) {
				if strings.Contains(r.Says, "taint") && !strings.Contains(r.Says, "nothing in this cluster acts on") {
					got = append(got, r.Says)
				}
			}
			if strings.Join(got, "\n") != c.want {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), c.want)
			}
		})
	}
}
