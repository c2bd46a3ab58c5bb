package apiserver

import (
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/registry/service"
	"kviz/cluster/client"
)

// What Services get from the server, cluster IPs and node ports, as a part of the
// validation of a write.

// serviceOf is a Service and what it was; nil for what is none.
func serviceOf(obj, old runtime.Object) (svc, was *corev1.Service) {
	svc, _ = obj.(*corev1.Service)
	was, _ = old.(*corev1.Service)
	return svc, was
}

func (c *call) allocation() *service.Allocation {
	return c.s.alloc.For(c.Task, c.Now(), c.req.System, c.req.DryRun)
}

// allocate gives a Service what it needs and does not have.
func (c *call) allocate(obj, old runtime.Object, sub string) error {
	svc, was := serviceOf(obj, old)
	if svc == nil || sub != "" {
		return nil
	}
	return c.allocation().Allocate(svc, was)
}

// release gives back what a refused request had taken.
func (c *call) release(obj, old runtime.Object) {
	if svc, was := serviceOf(obj, old); svc != nil {
		c.allocation().Release(svc, was)
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

// newAllocator makes the allocator of the server's process.
func (s *Server) newAllocator() *service.Allocator {
	return service.NewAllocator(service.Config{
		Rand: func() *rand.Rand { return s.rand }, Cidr: s.cidr, Ports: s.cfg.NodePorts, Several: s.several, Store: s.st,
		Services: func(key string) *corev1.Service {
			if en := s.caches[registry.KindFor(client.Services.GroupVersionResource)].Get(key); en != nil {
				return en.Object.(*corev1.Service)
			}
			return nil
		},
	})
}
