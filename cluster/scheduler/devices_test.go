package scheduler_test

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/sim"
)

const gpuDriver = "gpu.example.com"

// devices runs a command about ResourceClaims and what drivers publish.
func (e *env) devices(t *sim.Task, f []string) {
	switch args := flags(f[1:]); f[0] {
	case "devices": // devices NODE NAME:MODEL...: what the driver on a node publishes
		s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: f[1]}, Spec: resourcev1.ResourceSliceSpec{
			Driver: gpuDriver, NodeName: &f[1], Pool: resourcev1.ResourcePool{Name: f[1], Generation: 1, ResourceSliceCount: 1},
		}}
		for _, d := range f[2:] {
			name, model, _ := strings.Cut(d, ":")
			s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{Name: name, Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"model": {StringValue: &model}}})
		}
		clienttest.Must(client.Create(t, e.c, client.ResourceSlices, "", s))
	case "device-class": // device-class NAME [model=M] [extended=RESOURCE]
		c := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: f[1]}}
		expression := fmt.Sprintf("device.driver == %q", gpuDriver)
		if m := args["model"]; m != "" {
			expression += fmt.Sprintf(" && device.attributes[%q].model == %q", gpuDriver, m)
		}
		c.Spec.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}}
		if r := args["extended"]; r != "" {
			c.Spec.ExtendedResourceName = &r
		}
		clienttest.Must(client.Create(t, e.c, client.DeviceClasses, "", c))
	case "taint-device": // taint-device NAME
		clienttest.Must(client.Create(t, e.c, client.DeviceTaintRules, "", &resourcev1.DeviceTaintRule{
			ObjectMeta: metav1.ObjectMeta{Name: f[1]}, Spec: resourcev1.DeviceTaintRuleSpec{
				DeviceSelector: &resourcev1.DeviceTaintSelector{Device: &f[1]}, Taint: resourcev1.DeviceTaint{Key: "broken", Effect: resourcev1.DeviceTaintEffectNoSchedule},
			},
		}))
	case "resource-claim": // resource-claim NAME class=C [count=N] [or=C]
		c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: f[1]}}
		n := int64(1)
		if s := args["count"]; s != "" {
			many, err := strconv.ParseInt(s, 10, 64)
			n = clienttest.Must(many, err)
		}
		r := resourcev1.DeviceRequest{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: args["class"], AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: n}}
		if other := args["or"]; other != "" {
			r.Exactly = nil
			for _, class := range []string{args["class"], other} {
				r.FirstAvailable = append(r.FirstAvailable, resourcev1.DeviceSubRequest{Name: class, DeviceClassName: class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: n})
			}
		}
		c.Spec.Devices.Requests = []resourcev1.DeviceRequest{r}
		clienttest.Must(client.Create(t, e.c, client.ResourceClaims, "demo", c))
	case "taken": // which claims have which devices, and for whom
		for _, o := range e.Objects(client.ResourceClaims) {
			c := o.(*resourcev1.ResourceClaim)
			line := "  claim " + c.Name + ":"
			if c.Status.Allocation == nil {
				line += " -"
			} else {
				for _, r := range c.Status.Allocation.Devices.Results {
					line += fmt.Sprintf(" %s/%s", r.Pool, r.Device)
				}
			}
			for _, r := range c.Status.ReservedFor {
				line += ", for " + r.Name
			}
			e.extra += line + "\n"
		}
		for _, o := range e.Objects(client.Pods) {
			if p := o.(*corev1.Pod); p.Status.ExtendedResourceClaimStatus != nil {
				e.extra += fmt.Sprintf("  %s got the claim %s\n", p.Name, p.Status.ExtendedResourceClaimStatus.ResourceClaimName)
			}
		}
	}
}
