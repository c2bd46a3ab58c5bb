package admission

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core"
	"k8s.io/client-go/informers/internalinterfaces"
	storageinformers "k8s.io/client-go/informers/storage"
	"k8s.io/client-go/tools/cache"

	"kviz/cluster/client"
)

// informerFactory gives Kubernetes' own plugins listers that read what a [Lister] does.
// They find single objects; nobody lists, and there is nothing to start or to wait for.
type informerFactory struct {
	informers.SharedInformerFactory // none: nobody asks for more
	lister                          Lister
}

// Core is informers.SharedInformerFactory.
func (f informerFactory) Core() coreinformers.Interface { return coreinformers.New(f, "", nil) }

// Storage is informers.SharedInformerFactory.
func (f informerFactory) Storage() storageinformers.Interface {
	return storageinformers.New(f, "", nil)
}

// InformerFor is informers.SharedInformerFactory.
func (f informerFactory) InformerFor(obj runtime.Object, _ internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	in := indexer{lister: f.lister}
	switch obj.(type) {
	case *corev1.Namespace:
		in.of = client.Namespaces
	case *corev1.Node:
		in.of = client.Nodes
	case *corev1.PersistentVolume:
		in.of = client.PersistentVolumes
	case *corev1.PersistentVolumeClaim:
		in.of = client.PersistentVolumeClaims
	case *corev1.Pod:
		in.of = client.Pods
	case *corev1.ServiceAccount:
		in.of = client.ServiceAccounts
	case *storagev1.CSIDriver:
		in.of = client.CSIDrivers
	default:
		panic(fmt.Sprintf("admission: no plugin looks for a %T", obj))
	}
	return informer{indexer: in}
}

type informer struct {
	cache.SharedIndexInformer // none
	indexer                   indexer
}

// GetIndexer is cache.SharedIndexInformer.
func (i informer) GetIndexer() cache.Indexer { return i.indexer }

type indexer struct {
	cache.Indexer // none
	lister        Lister
	of            client.Resource
}

// GetByKey is cache.Indexer.
func (i indexer) GetByKey(key string) (any, bool, error) {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return nil, false, err
	}
	obj := i.lister.Get(i.of, namespace, name)
	return obj, obj != nil, nil
}
