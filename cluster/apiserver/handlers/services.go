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

func (c *Call) allocating() service.Request {
	return service.Request{Task: c.Ask(), Now: c.Now(), System: c.Req.System, DryRun: c.Req.DryRun}
}

// allocate gives a Service what it needs and does not have, until the round of the request
// is finished.
func (h *Handlers) allocate(c *Call, obj, old runtime.Object, sub string) (err error) {
	svc, was := serviceOf(obj, old)
	if svc == nil || sub != "" {
		return nil
	}
	c.allocation, err = h.Services.Begin(c.allocating(), svc, was)
	return err
}

// finish ends a round of a write: what a Service was given is its own if it was written,
// and else free again (storage.go beginCreate, beginUpdate).
func (c *Call) finish(made written, err error) (written, error) {
	switch a := c.allocation; {
	case a == nil:
	case err == nil:
		a.Commit()
	default:
		a.Revert()
	}
	c.allocation = nil
	return made, err
}

// free gives back what a Service had that is deleted.
func (h *Handlers) free(c *Call, obj runtime.Object) {
	if svc, _ := serviceOf(obj, nil); svc != nil {
		h.Services.Free(c.allocating(), svc)
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
