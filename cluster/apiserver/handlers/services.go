package handlers

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/registry/service"
)

// What Services get from the server, cluster IPs and node ports, as a part of the
// validation of a write.

// serviceOf is a Service and what it was; nil for what is none.
func serviceOf(obj, old runtime.Object) (svc, was *corev1.Service) {
	svc, _ = obj.(*corev1.Service)
	was, _ = old.(*corev1.Service)
	return svc, was
}

func (h *Handlers) allocation(c *Call) *service.Allocation {
	return h.Services.For(c.Task, c.Now(), c.Req.System, c.Req.DryRun)
}

// allocate gives a Service what it needs and does not have.
func (h *Handlers) allocate(c *Call, obj, old runtime.Object, sub string) error {
	svc, was := serviceOf(obj, old)
	if svc == nil || sub != "" {
		return nil
	}
	return h.allocation(c).Allocate(svc, was)
}

// release gives back what a refused request had taken.
func (h *Handlers) release(c *Call, obj, old runtime.Object) {
	if svc, was := serviceOf(obj, old); svc != nil {
		h.allocation(c).Release(svc, was)
	}
}

// allotted says what a Service was given.
func allotted(obj, old runtime.Object, sub string) string {
	svc, was := serviceOf(obj, old)
	if svc == nil || sub != "" {
		return ""
	}
	return service.Given(svc, was)
}
