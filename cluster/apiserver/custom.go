package apiserver

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/apiserver/crd"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/sim"
)

// What CustomResourceDefinitions make the server serve.

// KindFor is the kind served as a resource now; nil if none is.
func (s *Server) KindFor(r schema.GroupVersionResource) *registry.Kind {
	if k := registry.KindFor(r); k != nil {
		return k
	}
	return s.customs.KindFor(r)
}

// kindOf is the kind a key at the store belongs to; nil if to none.
func (s *Server) kindOf(key []byte) *registry.Kind {
	if k := registry.KindOfKey(key); k != nil {
		return k
	}
	return s.customs.KindOf(key)
}

// CustomKindsMoved notes that the custom kinds are others, or that one came into use.
func (s *Server) CustomKindsMoved() {
	s.usage.state++
	s.usage.more.Broadcast()
}

// CustomKindAdded notes of a kind whose definition was there before this server began that
// it may have had objects.
func (s *Server) CustomKindAdded(stored *registry.Kind) {
	if !s.ready {
		s.usage.custom[stored.GroupResource().String()] = true
	}
}

// UpdateDefinition writes the status of a definition.
func (s *Server) UpdateDefinition(t *sim.Task, client string, definition *apiextensionsv1.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
	r := s.serve(t, &Request{
		Verb: "update", Resource: crd.DefinitionKind().GroupVersionResource, Subresource: "status", Name: definition.Name,
		User: &selfUser, Client: client, Causes: t.Causes(), Object: definition, System: true,
	})
	if r.Err != nil {
		return nil, r.Err
	}
	return r.Object.(*apiextensionsv1.CustomResourceDefinition), nil
}

// ListObjects lists all objects of a kind, which need not be served.
func (s *Server) ListObjects(t *sim.Task, client string, k *registry.Kind) ([]runtime.Object, error) {
	r := s.serve(t, requestFor(t, client, k, "list", ""))
	return r.Items, r.Err
}

// DeleteObjects deletes all objects of a kind in a namespace.
func (s *Server) DeleteObjects(t *sim.Task, client string, k *registry.Kind, namespace string) error {
	return s.serve(t, requestFor(t, client, k, "deletecollection", namespace)).Err
}

func requestFor(t *sim.Task, client string, k *registry.Kind, verb, namespace string) *Request {
	return &Request{
		Verb: verb, Resource: k.GroupVersionResource, Namespace: namespace, User: &selfUser, Client: client, Causes: t.Causes(),
		System: true, Kind: k,
	}
}
