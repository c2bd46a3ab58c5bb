package apiserver

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"kviz/cluster/apiserver/aggregator"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/bootstrap"
	"kviz/cluster/apiserver/crd"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/registry/service"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// What parts of the server ask of it: for the most part requests of the server to itself,
// which pass the pipeline as any other.

// selfUser is the API server as its own client (genericapiserver's loopback).
var selfUser = authn.User{Name: "system:apiserver", Groups: []string{authn.Masters}}

// aggregatorHost is what the aggregator asks for ([aggregator.Host]).
type aggregatorHost struct {
	s *Server
	service.Resolver
}

func (h aggregatorHost) FollowAPIServices(why trace.ID) {
	for _, o := range h.s.peers.others(h.s) {
		o.aggregator.Follow(why)
	}
}

func (h aggregatorHost) WriteAPIServices(t *sim.Task, all []*apiregistration.APIService) {
	objs := make([]bootstrap.Object, len(all))
	for i, svc := range all {
		objs[i] = bootstrap.Object{Kind: aggregator.Kind(), Object: svc}
	}
	h.s.writer.Write(t, objs)
}

func (h aggregatorHost) CreateAPIService(t *sim.Task, client string, svc *apiregistration.APIService) error {
	req := apiServiceRequest("create", svc.Name, client)
	req.Object = svc
	return h.s.serve(t, req).Err
}

// DeleteAPIService deletes an APIService if it is still the same.
func (h aggregatorHost) DeleteAPIService(t *sim.Task, client string, svc *apiregistration.APIService) error {
	req := apiServiceRequest("delete", svc.Name, client)
	req.Delete.Preconditions = metav1.NewUIDPreconditions(string(svc.UID))
	return h.s.serve(t, req).Err
}

func (h aggregatorHost) UpdateAPIServiceStatus(t *sim.Task, client string, svc *apiregistration.APIService) error {
	req := apiServiceRequest("update", svc.Name, client)
	req.Subresource, req.Object, req.Causes = "status", svc, t.Causes()
	return h.s.serve(t, req).Err
}

func apiServiceRequest(verb, name, client string) *request.Request {
	return &request.Request{
		Verb: verb, Resource: aggregator.Kind().GroupVersionResource, Name: name, User: &selfUser, Client: client, FieldManager: client, System: true,
	}
}

// definitionHost is what the CustomResourceDefinitions and their controllers ask for.
type definitionHost struct {
	s *Server
	*crd.Conversions
}

func (h definitionHost) CustomKindsMoved() { h.s.peers.usage.CustomKindsMoved() }

// CustomKindAdded notes of a kind whose definition was there before this server began that
// it may have had objects.
func (h definitionHost) CustomKindAdded(stored *registry.Kind) {
	if !h.s.ready {
		h.s.peers.usage.CustomKindFound(stored)
	}
}

func (h definitionHost) UpdateDefinition(t *sim.Task, client string, definition *apiextensionsv1.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
	r := h.s.serve(t, &request.Request{
		Verb: "update", Resource: crd.DefinitionKind().GroupVersionResource, Subresource: "status", Name: definition.Name,
		User: &selfUser, Client: client, Causes: t.Causes(), Object: definition, System: true,
	})
	if r.Err != nil {
		return nil, r.Err
	}
	return r.Object.(*apiextensionsv1.CustomResourceDefinition), nil
}

// ListObjects lists all objects of a kind, which need not be served.
func (h definitionHost) ListObjects(t *sim.Task, client string, k *registry.Kind) ([]runtime.Object, error) {
	r := h.s.serve(t, customRequest(t, client, k, "list", ""))
	return r.Items, r.Err
}

// DeleteObjects deletes all objects of a kind in a namespace.
func (h definitionHost) DeleteObjects(t *sim.Task, client string, k *registry.Kind, namespace string) error {
	return h.s.serve(t, customRequest(t, client, k, "deletecollection", namespace)).Err
}

func customRequest(t *sim.Task, client string, k *registry.Kind, verb, namespace string) *request.Request {
	return &request.Request{
		Verb: verb, Resource: k.GroupVersionResource, Namespace: namespace, User: &selfUser, Client: client, Causes: t.Causes(),
		System: true, Kind: k,
	}
}

// quotaWriter writes what of a quota is used ([admission.QuotaWriter]).
type quotaWriter struct{ s *Server }

// WriteUse is [admission.QuotaWriter].
func (w quotaWriter) WriteUse(t *sim.Task, q *corev1.ResourceQuota, causes []trace.ID) (*corev1.ResourceQuota, error) {
	resp := w.s.serve(t, &request.Request{
		Verb: "update", Resource: client.ResourceQuotas.GroupVersionResource, Subresource: "status", Namespace: q.Namespace, Name: q.Name,
		User: &selfUser, Client: "apiserver", Causes: causes, Object: q, System: true,
	})
	now, _ := resp.Object.(*corev1.ResourceQuota)
	return now, resp.Err
}

// secretPatcher writes into the Secrets of tokens when they are used ([authn.SecretPatcher]).
type secretPatcher struct{ s *Server }

// PatchSecret is [authn.SecretPatcher].
func (p secretPatcher) PatchSecret(t *sim.Task, namespace, name string, patch []byte) error {
	return p.s.serve(t, &request.Request{
		Verb: "patch", Resource: client.Secrets.GroupVersionResource, Namespace: namespace, Name: name, PatchType: types.MergePatchType, Patch: patch,
		User: &selfUser, Client: "apiserver", FieldManager: "kube-apiserver", Causes: t.Causes(), System: true,
	}).Err
}
