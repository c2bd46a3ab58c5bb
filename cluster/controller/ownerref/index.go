package ownerref

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/informer"
)

// Index is the name of the index by controller.
const Index = "controller"

// AddIndex files the informer's objects under their controller's UID, and
// orphans under their namespace (controller_utils.go AddPodControllerIndexer),
// so that finding a ReplicaSet's pods does not read all pods.
func AddIndex(i *informer.Informer) {
	i.AddIndex(Index, func(obj runtime.Object) []string {
		m, err := meta.Accessor(obj)
		if err != nil {
			return nil
		}
		if ref := metav1.GetControllerOfNoCopy(m); ref != nil {
			return []string{string(ref.UID)}
		}
		return []string{orphans(m.GetNamespace())}
	})
}

func orphans(namespace string) string { return "orphan in " + namespace }

// ControlledBy gives the objects that uid controls.
func ControlledBy[T any](i *informer.Informer, uid types.UID) []T {
	return typed[T](i.ByIndex(Index, string(uid)))
}

// Candidates gives the objects that uid controls and the orphans of the
// namespace: all that a controller may claim (FilterPodsByOwner).
func Candidates[T any](i *informer.Informer, namespace string, uid types.UID) []T {
	return slices.Concat(ControlledBy[T](i, uid), typed[T](i.ByIndex(Index, orphans(namespace))))
}

// EachCandidate calls fn for the same objects in the same order, without a list
// of them.
func EachCandidate[T any](i *informer.Informer, namespace string, uid types.UID, fn func(T)) {
	each := func(obj runtime.Object) { fn(obj.(T)) }
	i.EachByIndex(Index, string(uid), each)
	i.EachByIndex(Index, orphans(namespace), each)
}

func typed[T any](objs []runtime.Object) []T {
	out := make([]T, 0, len(objs))
	for _, o := range objs {
		out = append(out, o.(T))
	}
	return out
}

// Resolve gives the object that ref means, if the informer has it and it is the
// same one (resolveControllerRef).
func Resolve[T Object](i *informer.Informer, kind, namespace string, ref *metav1.OwnerReference) (found T, ok bool) {
	if ref == nil || ref.Kind != kind {
		return found, false
	}
	obj, ok := i.Get(informer.Key(namespace, ref.Name))
	if !ok {
		return found, false
	}
	found = obj.(T)
	return found, found.GetUID() == ref.UID
}
