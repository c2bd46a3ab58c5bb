// Package servicestest has what is needed to compare the controllers of EndpointSlices
// and Endpoints with Kubernetes' own: Services and pods of all sorts, and informers and
// a connection with which upstream's controllers run without an API server.
//
// Start reading at [Cache].
package servicestest

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientset "k8s.io/client-go/kubernetes"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	discoveryclient "k8s.io/client-go/kubernetes/typed/discovery/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"

	"kviz/cluster/controller/upstreamtest"
)

// Cache is a shared informer that has in its cache what a test puts there.
type Cache = upstreamtest.Cache

// NewCache makes an empty one.
func NewCache() *Cache { return upstreamtest.NewCache() }

// The caches as client-go's informers of the kinds.
type (
	PodInformer       struct{ *Cache }
	ServiceInformer   struct{ *Cache }
	EndpointsInformer struct{ *Cache }
	SliceInformer     struct{ *Cache }
)

// Informer and Lister are those of client-go/informers.

func (i PodInformer) Informer() cache.SharedIndexInformer     { return i }
func (i PodInformer) Lister() corelisters.PodLister           { return corelisters.NewPodLister(i.Indexer) }
func (i ServiceInformer) Informer() cache.SharedIndexInformer { return i }
func (i ServiceInformer) Lister() corelisters.ServiceLister {
	return corelisters.NewServiceLister(i.Indexer)
}
func (i EndpointsInformer) Informer() cache.SharedIndexInformer { return i }
func (i EndpointsInformer) Lister() corelisters.EndpointsLister {
	return corelisters.NewEndpointsLister(i.Indexer)
}
func (i SliceInformer) Informer() cache.SharedIndexInformer { return i }
func (i SliceInformer) Lister() discoverylisters.EndpointSliceLister {
	return discoverylisters.NewEndpointSliceLister(i.Indexer)
}

// Client takes what a controller writes, as Kubernetes' connection.
type Client struct {
	clientset.Interface
	Endpoints []*corev1.Endpoints // created and updated
	Creations []*discoveryv1.EndpointSlice
	Updates   []*discoveryv1.EndpointSlice
	Deletions []string // of slices
	// Deleted is called when Endpoints or a slice are deleted: by what a test has deleted
	// last it knows that all before was dealt with.
	Deleted func(name string)
}

type (
	coreV1 struct {
		coreclient.CoreV1Interface
		c *Client
	}
	discoveryV1 struct {
		discoveryclient.DiscoveryV1Interface
		c *Client
	}
	events    struct{ coreclient.EventInterface }
	endpoints struct {
		coreclient.EndpointsInterface
		c *Client
	}
	slices struct {
		discoveryclient.EndpointSliceInterface
		c *Client
	}
)

// CoreV1 is [clientset.Interface].
func (c *Client) CoreV1() coreclient.CoreV1Interface { return coreV1{c: c} }

// DiscoveryV1 is [clientset.Interface].
func (c *Client) DiscoveryV1() discoveryclient.DiscoveryV1Interface { return discoveryV1{c: c} }

func (v coreV1) Events(string) coreclient.EventInterface { return events{} }

func (v coreV1) Endpoints(string) coreclient.EndpointsInterface { return endpoints{c: v.c} }

func (v discoveryV1) EndpointSlices(string) discoveryclient.EndpointSliceInterface {
	return slices{c: v.c}
}

// Events are lost.
func (events) CreateWithEventNamespace(e *corev1.Event) (*corev1.Event, error) { return e, nil }

func (events) PatchWithEventNamespace(e *corev1.Event, _ []byte) (*corev1.Event, error) {
	return e, nil
}

func (e endpoints) Create(_ context.Context, obj *corev1.Endpoints, _ metav1.CreateOptions) (*corev1.Endpoints, error) {
	e.c.Endpoints = append(e.c.Endpoints, obj)
	return obj, nil
}

func (e endpoints) Update(_ context.Context, obj *corev1.Endpoints, _ metav1.UpdateOptions) (*corev1.Endpoints, error) {
	e.c.Endpoints = append(e.c.Endpoints, obj)
	return obj, nil
}

func (e endpoints) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	e.c.Deleted(name)
	return nil
}

func (s slices) Create(_ context.Context, obj *discoveryv1.EndpointSlice, _ metav1.CreateOptions) (*discoveryv1.EndpointSlice, error) {
	s.c.Creations = append(s.c.Creations, obj)
	return obj, nil
}

func (s slices) Update(_ context.Context, obj *discoveryv1.EndpointSlice, _ metav1.UpdateOptions) (*discoveryv1.EndpointSlice, error) {
	s.c.Updates = append(s.c.Updates, obj)
	return obj, nil
}

func (s slices) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	s.c.Deletions = append(s.c.Deletions, name)
	s.c.Deleted(name)
	return nil
}
