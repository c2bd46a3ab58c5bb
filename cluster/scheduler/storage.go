package scheduler

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/component-helpers/storage/volume"

	"kviz/cluster/client"
	"kviz/cluster/informer"
	"kviz/cluster/scheduler/framework"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// storage is what the volume plugins read: claims, volumes, classes, and what drivers say.
// Each kind is watched once the cluster has had an object of it; until then there is none.
type storage struct {
	claims, volumes, classes            *informer.Informer
	csiNodes, csiDrivers, csiCapacities *informer.Informer
	attachments                         *informer.Informer
	byClass, byNode                     string // indexes of volumes and of attachments
}

func newStorage(of func(client.Resource) *informer.Informer) *storage {
	s := &storage{
		claims: of(client.PersistentVolumeClaims), volumes: of(client.PersistentVolumes), classes: of(client.StorageClasses),
		csiNodes: of(client.CSINodes), csiDrivers: of(client.CSIDrivers), csiCapacities: of(client.CSIStorageCapacities),
		attachments: of(client.VolumeAttachments),
		byClass:     "class", byNode: "node",
	}
	s.volumes.AddIndex(s.byClass, func(o runtime.Object) []string {
		return []string{volume.GetPersistentVolumeClass(o.(*corev1.PersistentVolume))}
	})
	s.attachments.AddIndex(s.byNode, func(o runtime.Object) []string { return []string{o.(*storagev1.VolumeAttachment).Spec.NodeName} })
	return s
}

func (s *storage) informers() []*informer.Informer {
	return []*informer.Informer{s.claims, s.volumes, s.classes, s.csiNodes, s.csiDrivers, s.csiCapacities, s.attachments}
}

// addHandlers tells the queue of what may help a pod with claims.
//
// Mirrors pkg/scheduler/eventhandlers.go buildEvtResHandler.
func (s *storage) addHandlers(q *schedulingQueue) {
	for i, r := range []framework.EventResource{
		framework.PersistentVolumeClaim, framework.PersistentVolume, framework.StorageClass, framework.CSINode, framework.CSIDriver,
		framework.CSIStorageCapacity, framework.VolumeAttachment,
	} {
		s.informers()[i].AddHandler(informer.Handler{
			Add: func(t *sim.Task, o runtime.Object, _ trace.ID) { q.happened(t, event(r, framework.Add), nil, o) },
			Update: func(t *sim.Task, old, o runtime.Object, _ trace.ID) {
				q.happened(t, event(r, framework.Update), old, o)
			},
			Delete: func(t *sim.Task, o runtime.Object, _ trace.ID) { q.happened(t, event(r, framework.Delete), o, nil) },
		})
	}
}

// find gives the object of a key, or the error of a lister (client-go's, whose kinds are in the
// singular).
func find[T any](i *informer.Informer, key string, kind schema.GroupResource, name string) (T, error) {
	obj, _ := i.Get(key)
	t, ok := obj.(T)
	if !ok {
		return t, apierrors.NewNotFound(kind, name)
	}
	return t, nil
}

// Claim is the claim of a name.
func (s *storage) Claim(namespace, name string) (*corev1.PersistentVolumeClaim, error) {
	return find[*corev1.PersistentVolumeClaim](s.claims, informer.Key(namespace, name), corev1.Resource("persistentvolumeclaim"), name)
}

// Volume is the volume of a name.
func (s *storage) Volume(name string) (*corev1.PersistentVolume, error) {
	return find[*corev1.PersistentVolume](s.volumes, informer.Key("", name), corev1.Resource("persistentvolume"), name)
}

// VolumesOf are the volumes of a class, by name.
func (s *storage) VolumesOf(class string) []*corev1.PersistentVolume {
	return listed[*corev1.PersistentVolume](s.volumes.ByIndex(s.byClass, class))
}

// Class is the class of a name.
func (s *storage) Class(name string) (*storagev1.StorageClass, error) {
	return find[*storagev1.StorageClass](s.classes, informer.Key("", name), storagev1.Resource("storageclass"), name)
}

// CSINode is what the drivers on a node say; nil if none does.
func (s *storage) CSINode(name string) *storagev1.CSINode {
	return get[*storagev1.CSINode](s.csiNodes, "", name)
}

// CSIDriver is nil if there is no object of the name.
func (s *storage) CSIDriver(name string) *storagev1.CSIDriver {
	return get[*storagev1.CSIDriver](s.csiDrivers, "", name)
}

// Capacities are where drivers have room.
func (s *storage) Capacities() []*storagev1.CSIStorageCapacity {
	return listed[*storagev1.CSIStorageCapacity](s.csiCapacities.List())
}

// AttachmentsTo are the attachments to a node.
func (s *storage) AttachmentsTo(node string) []*storagev1.VolumeAttachment {
	return listed[*storagev1.VolumeAttachment](s.attachments.ByIndex(s.byNode, node))
}

func listed[T any](objects []runtime.Object) []T {
	list := make([]T, 0, len(objects))
	for _, o := range objects {
		list = append(list, o.(T))
	}
	return list
}

// Classes is the classes as upstream's functions want them.
func (s *storage) Classes() storagelisters.StorageClassLister { return classLister{s} }

type classLister struct{ s *storage }

func (l classLister) Get(name string) (*storagev1.StorageClass, error) { return l.s.Class(name) }

func (l classLister) List(match labels.Selector) (list []*storagev1.StorageClass, _ error) {
	for _, c := range listed[*storagev1.StorageClass](l.s.classes.List()) {
		if match.Matches(labels.Set(c.Labels)) {
			list = append(list, c)
		}
	}
	return list, nil
}

// used is the pods' claims: what the plugin VolumeRestrictions asks beside the claims themselves.
type used struct {
	*objects
	cache *cache
}

// ClaimInUse reports whether a pod on a node names the claim.
func (u used) ClaimInUse(namespace, name string) bool {
	return u.cache.claims[informer.Key(namespace, name)] > 0
}

// NodeOf is a node's object, nil if there is none.
func (s *Scheduler) NodeOf(name string) *corev1.Node {
	if n := s.cache.nodes[name]; n != nil {
		return n.Node
	}
	return nil
}

// PodOf is a pod as the API server has it, nil if there is none.
func (s *Scheduler) PodOf(namespace, name string) *corev1.Pod {
	return get[*corev1.Pod](s.pods, namespace, name)
}
