package crd

import (
	"fmt"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/sim"
)

// The end of a definition (finalizer/crd_finalizer.go): its objects are deleted,
// and when none is left the definition loses its finalizer and goes.

const (
	cleanupPoll  = 5 * time.Second // how often it looks whether objects are left
	cleanupLimit = time.Minute     // how long, before it says so and begins again
	cleanupBy    = "crd-finalizer"
)

// writeAgain is how long it is until a controller tries again what it could not write.
const writeAgain = time.Second

func (d *Controllers) end(t *sim.Task, name string) {
	en := d.cache().Get(name)
	if en == nil {
		return
	}
	crd := en.Object.(*apiextensionsv1.CustomResourceDefinition).DeepCopy()
	terminating := func(status apiextensionsv1.ConditionStatus, reason, message string) {
		SetCondition(crd, metav1.NewTime(t.Now().Truncate(time.Second)), apiextensionsv1.CustomResourceDefinitionCondition{
			Type: apiextensionsv1.Terminating, Status: status, Reason: reason, Message: message,
		})
	}
	terminating(apiextensionsv1.ConditionTrue, "InstanceDeletionInProgress", "CustomResource deletion is in progress")
	if !d.noted(t, name, crd) {
		return
	}
	if !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
		terminating(apiextensionsv1.ConditionFalse, "NeverEstablished", "resource was never established")
	} else if reason, err := d.deleteObjects(t, name); err != nil {
		terminating(apiextensionsv1.ConditionTrue, reason, err.Error())
		d.noted(t, name, crd)
		d.later(name, cleanupPoll)
		return
	} else {
		terminating(apiextensionsv1.ConditionFalse, "InstanceDeletionCompleted", "removed all instances")
	}
	apihelpers.CRDRemoveFinalizer(crd, apiextensionsv1.CustomResourceCleanupFinalizer)
	d.noted(t, name, crd)
}

// noted writes the definition's status. What failed is looked at again after
// writeAgain, also where somebody else was faster.
func (d *Controllers) noted(t *sim.Task, name string, crd *apiextensionsv1.CustomResourceDefinition) bool {
	err := d.write(t, cleanupBy, crd)
	if err != nil && !apierrors.IsNotFound(err) {
		d.later(name, writeAgain)
	}
	return err == nil
}

// deleteObjects deletes what there is of the kind, namespace by namespace, and
// waits until it is gone: objects may have finalizers of their own. reason is
// for the condition if it did not work.
func (d *Controllers) deleteObjects(t *sim.Task, name string) (reason string, err error) {
	k := d.stored(name)
	if k == nil {
		return "", nil
	}
	items, err := d.send.ListObjects(t, cleanupBy, k)
	if err != nil {
		return "InstanceDeletionFailed", fmt.Errorf("could not list instances: %w", err)
	}
	done := map[string]bool{}
	for _, obj := range items {
		ns := object.Meta(obj).GetNamespace()
		if done[ns] {
			continue
		}
		done[ns] = true
		if err := d.send.DeleteObjects(t, cleanupBy, k, ns); err != nil {
			return "InstanceDeletionFailed", fmt.Errorf("could not issue all deletes: %w", err)
		}
	}
	for waited := time.Duration(0); ; waited += cleanupPoll {
		if items, err = d.send.ListObjects(t, cleanupBy, k); err == nil && len(items) == 0 {
			return "", nil
		}
		if err == nil && waited >= cleanupLimit {
			err = fmt.Errorf("timed out waiting for the condition")
		}
		if err != nil {
			return "InstanceDeletionCheck", fmt.Errorf("could not confirm zero CustomResources remaining: %w", err)
		}
		t.Sleep(cleanupPoll)
	}
}
