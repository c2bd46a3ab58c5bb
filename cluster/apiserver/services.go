package apiserver

import (
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/registry/service"
	"kviz/cluster/client"

	corev1 "k8s.io/api/core/v1"
)

// newAllocator makes the allocator of the server's process.
func (s *Server) newAllocator() *service.Allocator {
	return service.NewAllocator(service.Config{
		Rand: s.names.Rand, Cidr: s.cidr, Ports: s.cfg.NodePorts, Several: s.several, Store: s.st,
		Services: func(key string) *corev1.Service {
			if en := s.caches[registry.KindFor(client.Services.GroupVersionResource)].Get(key); en != nil {
				return en.Object.(*corev1.Service)
			}
			return nil
		},
	})
}
