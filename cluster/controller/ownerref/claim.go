// Package ownerref is how controllers find and keep what belongs to them: the
// controller reference of an object, adoption of orphans that match a selector,
// release of those that no longer do.
//
// An object belongs to a controller by the UID in its ownerReferences, not by
// its labels. The selector only says what a controller would adopt if nobody
// owned it. So two ReplicaSets with the same selector do not fight over pods,
// and a pod whose label is changed by hand is let go and replaced.
//
// Mirrors pkg/controller/controller_ref_manager.go. Start reading at [Claim].
package ownerref

import (
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
)

// Object is an API object with its metadata.
type Object interface {
	runtime.Object
	metav1.Object
}

// Claimer claims objects of one kind for one controller.
type Claimer struct {
	Run      *reconcile.Run
	Client   client.Interface
	Owner    Object // the ReplicaSet, the Deployment
	OwnerOf  client.Resource
	Kind     client.Resource // of what is claimed
	Selector labels.Selector
	// Finalizers are those that what is adopted gets, and what is released loses.
	Finalizers []string
	// Matches has to be true of an object too; nil: the selector alone decides.
	Matches func(Object) bool
	// Adopted is called with each object that was adopted, as it was written; nil: nobody asks.
	Adopted func(runtime.Object)

	checked  bool // that the owner still lives
	checkErr error
}

// Claim gives those of candidates that belong to the owner, adopting orphans
// that match and releasing what no longer does:
//
//	controlled by     matches   then
//	owner             yes       keep it
//	owner             no        release it
//	somebody else     –         leave it
//	nobody            yes       adopt it, if the owner is not being deleted
//	nobody            no        leave it
func Claim[T Object](c *Claimer, candidates []T) ([]T, error) {
	var mine []T
	var errs []error
	for _, obj := range candidates {
		ok, err := c.claim(obj)
		if err != nil {
			errs = append(errs, err)
		} else if ok {
			mine = append(mine, obj)
		}
	}
	return mine, errors.Join(errs...)
}

func (c *Claimer) claim(obj Object) (bool, error) {
	matches := c.Selector.Matches(labels.Set(obj.GetLabels())) && (c.Matches == nil || c.Matches(obj))
	deleting := c.Owner.GetDeletionTimestamp() != nil
	if ref := metav1.GetControllerOfNoCopy(obj); ref != nil {
		switch {
		case ref.UID != c.Owner.GetUID():
			return false, nil
		case matches:
			return true, nil
		case deleting:
			return false, nil
		}
		return false, ignoreGone(c.release(obj))
	}
	if deleting || !matches || obj.GetDeletionTimestamp() != nil {
		return false, nil
	}
	err := c.adopt(obj)
	return err == nil, ignoreGone(err)
}

func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsInvalid(err) {
		return nil // it is gone, or was replaced by another of that name
	}
	return err
}

// Adopt makes the owner the controller of an object of nobody.
func (c *Claimer) Adopt(obj Object) error { return c.adopt(obj) }

// adopt makes the owner the object's controller. Before the first adoption it
// asks the API server, not the cache, whether the owner is still the same: a
// cache that is late could hand pods to an owner that is already gone.
func (c *Claimer) adopt(obj Object) error {
	if !c.checked {
		c.checked, c.checkErr = true, c.recheck()
	}
	if c.checkErr != nil {
		return fmt.Errorf("can't adopt %s %s/%s (%s): %w", c.Kind.Kind, obj.GetNamespace(), obj.GetName(), obj.GetUID(), c.checkErr)
	}
	c.Run.Act("patch", client.RefOf(obj), c.Owner.GetName(), "no controller",
		"%s %s has no controller and matches the selector %q: adopt it", c.Kind.Kind, obj.GetName(), c.Selector)
	yes := true
	metadata := map[string]any{
		"uid": obj.GetUID(),
		"ownerReferences": []metav1.OwnerReference{{
			APIVersion: c.OwnerOf.GroupVersion().String(), Kind: c.OwnerOf.Kind, Name: c.Owner.GetName(), UID: c.Owner.GetUID(),
			Controller: &yes, BlockOwnerDeletion: &yes,
		}},
	}
	if len(c.Finalizers) > 0 {
		metadata["finalizers"] = c.Finalizers
	}
	written, err := c.patch(obj, metadata)
	if err == nil && c.Adopted != nil {
		c.Adopted(written)
	}
	return err
}

// recheck reads the owner again (RecheckDeletionTimestamp).
func (c *Claimer) recheck() error {
	fresh, err := c.Client.Get(c.Run.T, c.OwnerOf, c.Owner.GetNamespace(), c.Owner.GetName())
	if err != nil {
		return fmt.Errorf("can't recheck DeletionTimestamp: %w", err)
	}
	m, err := meta.Accessor(fresh)
	if err != nil {
		return err
	}
	if m.GetUID() != c.Owner.GetUID() {
		return fmt.Errorf("original %s %s/%s is gone: got uid %s, wanted %s", c.OwnerOf.Kind, m.GetNamespace(), m.GetName(), m.GetUID(), c.Owner.GetUID())
	}
	if m.GetDeletionTimestamp() != nil {
		return fmt.Errorf("%s/%s has just been deleted at %s", m.GetNamespace(), m.GetName(), m.GetDeletionTimestamp())
	}
	return nil
}

func (c *Claimer) release(obj Object) error {
	what := fmt.Sprintf("the labels of %s %s no longer match the selector %q", c.Kind.Kind, obj.GetName(), c.Selector)
	if c.Selector.Matches(labels.Set(obj.GetLabels())) {
		what = fmt.Sprintf("%s %s is not one that %s %s makes", c.Kind.Kind, obj.GetName(), c.OwnerOf.Kind, c.Owner.GetName())
	}
	c.Run.Act("patch", client.RefOf(obj), "no controller", c.Owner.GetName(), "%s: release it", what)
	metadata := map[string]any{
		"uid":             obj.GetUID(),
		"ownerReferences": []map[string]string{{"$patch": "delete", "uid": string(c.Owner.GetUID())}},
	}
	if len(c.Finalizers) > 0 {
		metadata["$deleteFromPrimitiveList/finalizers"] = c.Finalizers
	}
	_, err := c.patch(obj, metadata)
	return err
}

// patch changes the metadata. The UID in it makes the API server refuse when
// the object is another one of the same name.
func (c *Claimer) patch(obj Object, metadata map[string]any) (runtime.Object, error) {
	data, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return nil, err
	}
	return c.Client.Patch(c.Run.T, c.Kind, obj.GetNamespace(), obj.GetName(), types.StrategicMergePatchType, data, "")
}
