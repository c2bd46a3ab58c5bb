// Package servicestest has what the controllers of EndpointSlices and Endpoints are
// compared with Kubernetes' own on: Services and pods of all sorts, and informers and a
// connection with which upstream's controllers run without an API server.
//
// Start reading at [Cache].
package servicestest

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientset "k8s.io/client-go/kubernetes"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	discoveryclient "k8s.io/client-go/kubernetes/typed/discovery/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"
)

// Cache is a shared informer that has in its cache what a test puts there.
type Cache struct {
	cache.SharedIndexInformer
	indexer  cache.Indexer
	handlers []cache.ResourceEventHandler
}

// NewCache makes an empty one.
func NewCache() *Cache {
	return &Cache{indexer: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})}
}

// Hold makes the objects all that there is; no handler runs.
func (c *Cache) Hold(objs ...runtime.Object) {
	var list []any
	for _, o := range objs {
		list = append(list, o)
	}
	if err := c.indexer.Replace(list, ""); err != nil {
		panic(err)
	}
}

// Came tells the handlers that an object was added.
func (c *Cache) Came(obj runtime.Object) {
	for _, h := range c.handlers {
		h.OnAdd(obj, false)
	}
}

// AddEventHandler is [cache.SharedIndexInformer].
func (c *Cache) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	c.handlers = append(c.handlers, h)
	return nil, nil
}

// HasSynced is [cache.SharedIndexInformer].
func (c *Cache) HasSynced() bool { return true }

// The caches as client-go's informers of the kinds.
type (
	PodInformer       struct{ *Cache }
	ServiceInformer   struct{ *Cache }
	EndpointsInformer struct{ *Cache }
	SliceInformer     struct{ *Cache }
)

// Informer and Lister are those of client-go/informers.

func (i PodInformer) Informer() cache.SharedIndexInformer     { return i }
func (i PodInformer) Lister() corelisters.PodLister           { return corelisters.NewPodLister(i.indexer) }
func (i ServiceInformer) Informer() cache.SharedIndexInformer { return i }
func (i ServiceInformer) Lister() corelisters.ServiceLister {
	return corelisters.NewServiceLister(i.indexer)
}
func (i EndpointsInformer) Informer() cache.SharedIndexInformer { return i }
func (i EndpointsInformer) Lister() corelisters.EndpointsLister {
	return corelisters.NewEndpointsLister(i.indexer)
}
func (i SliceInformer) Informer() cache.SharedIndexInformer { return i }
func (i SliceInformer) Lister() discoverylisters.EndpointSliceLister {
	return discoverylisters.NewEndpointSliceLister(i.indexer)
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
