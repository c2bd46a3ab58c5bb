package endpoint

import (
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	endpointsv1 "k8s.io/kubernetes/pkg/api/v1/endpoints"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/services"
)

// sync brings the Endpoints of one Service in line with its pods (syncService).
func (c *Controller) sync(run *reconcile.Run) error {
	obj, ok := c.services.Get(run.Key)
	if !ok {
		return c.remove(run)
	}
	svc := obj.(*corev1.Service)
	if svc.Spec.Type == corev1.ServiceTypeExternalName || svc.Spec.Selector == nil {
		return nil // somebody else writes them
	}
	behind := services.Behind(svc, c.pods)
	run.Look(len(behind))
	changed := c.triggers.LastChange(run.Key, svc, behind)
	have := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: svc.Name, Labels: svc.Labels}}
	if obj, there := c.endpoints.Get(run.Key); there {
		have = obj.(*corev1.Endpoints)
		if c.stale[run.Key] == have.ResourceVersion {
			return fmt.Errorf("endpoints informer cache is out of date, resource version %s already processed for endpoints %s", have.ResourceVersion, run.Key)
		}
	}
	want := planOf(svc, behind, have, changed)
	if want == nil {
		return nil
	}
	return c.write(run, svc, have, want)
}

// planOf is the object as it should be written; nil if it need not be.
func planOf(svc *corev1.Service, behind []*corev1.Pod, have *corev1.Endpoints, changed time.Time) *corev1.Endpoints {
	subsets := subsetsOf(svc, behind)
	if have.ResourceVersion != "" && isRight(have, svc, subsets) {
		return nil
	}
	return wanted(svc, have, subsets, changed)
}

// remove deletes the Endpoints of a Service that is gone. Nobody else does: they have no
// owner.
func (c *Controller) remove(run *reconcile.Run) error {
	delete(c.triggers, run.Key)
	delete(c.stale, run.Key)
	run.Gone()
	if obj, there := c.endpoints.Get(run.Key); there { // upstream does not look, and is told that there are none
		run.Act("delete", client.RefOf(obj), nil, tally(obj.(*corev1.Endpoints)), "Service %s is gone: delete its Endpoints", run.Name)
	}
	err := c.Client.Delete(run.T, client.Endpoints, run.Namespace, run.Name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// isRight reports whether nothing needs to be written.
func isRight(have *corev1.Endpoints, svc *corev1.Service, subsets []corev1.EndpointSubset) bool {
	if !equality.Semantic.DeepEqual(have.Subsets, subsets) &&
		!equality.Semantic.DeepEqual(endpointsv1.RepackSubsets(have.Subsets), subsets) {
		return false // as written and, had they been written in another order, as packed
	}
	_, full := have.Annotations[corev1.EndpointsOverCapacity]
	return labelled(have.Labels, svc.Labels) && !full && count(have.Subsets) <= maxCapacity
}

// labelled reports whether the labels are the Service's and this controller's
// (labelsCorrectForEndpoints).
func labelled(have, svc map[string]string) bool {
	if have[LabelManagedBy] != Source {
		return false
	}
	have = maps.Clone(have)
	delete(have, corev1.IsHeadlessService)
	delete(have, LabelManagedBy)
	return maps.Equal(have, svc)
}

// wanted is the object as it should be.
func wanted(svc *corev1.Service, have *corev1.Endpoints, subsets []corev1.EndpointSubset, changed time.Time) *corev1.Endpoints {
	e := have.DeepCopy()
	e.Subsets = subsets
	e.Labels = maps.Clone(svc.Labels)
	if e.Labels == nil {
		e.Labels = map[string]string{}
	}
	delete(e.Labels, corev1.IsHeadlessService)
	if svc.Spec.ClusterIP == "" || svc.Spec.ClusterIP == corev1.ClusterIPNone {
		e.Labels[corev1.IsHeadlessService] = ""
	}
	e.Labels[LabelManagedBy] = Source
	if e.Annotations == nil {
		e.Annotations = map[string]string{}
	}
	delete(e.Annotations, corev1.EndpointsLastChangeTriggerTime)
	if !changed.IsZero() {
		e.Annotations[corev1.EndpointsLastChangeTriggerTime] = changed.UTC().Format(time.RFC3339Nano)
	}
	delete(e.Annotations, corev1.EndpointsOverCapacity)
	if truncate(e) {
		e.Annotations[corev1.EndpointsOverCapacity] = "truncated"
	}
	return e
}

// write creates or updates the object.
func (c *Controller) write(run *reconcile.Run, svc *corev1.Service, have, want *corev1.Endpoints) error {
	if have.ResourceVersion == "" {
		run.Act("create", client.Endpoints.Ref(svc.Namespace, svc.Name), tally(want), nil, "Service %s has no Endpoints: create them with %s", svc.Name, tally(want))
		_, err := client.Create(run.T, c.Client, client.Endpoints, svc.Namespace, want)
		switch {
		case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
			return nil
		case err != nil:
			want.Namespace = svc.Namespace
			c.Events.Event(run.T, want, corev1.EventTypeWarning, "FailedToCreateEndpoint", "Failed to create endpoint for service %v/%v: %v", svc.Namespace, svc.Name, err)
		}
		return err
	}
	run.Act("update", client.RefOf(have), tally(want), tally(have), "Endpoints %s have %s, the pods behind the Service make it %s: update them", svc.Name, tally(have), tally(want))
	updated, err := client.Update(run.T, c.Client, client.Endpoints, svc.Namespace, want)
	if err != nil {
		c.Events.Event(run.T, want, corev1.EventTypeWarning, "FailedToUpdateEndpoint", "Failed to update endpoint %v/%v: %v", svc.Namespace, svc.Name, err)
		return err
	}
	if updated.ResourceVersion != have.ResourceVersion {
		// The cache may still have the old one when the next run comes.
		c.stale[run.Key] = have.ResourceVersion
	}
	return nil
}

// tally is "3 addresses (2 ready)".
func tally(e *corev1.Endpoints) string {
	ready := 0
	for _, s := range e.Subsets {
		ready += len(s.Addresses)
	}
	if n := count(e.Subsets); n != 1 {
		return fmt.Sprintf("%d addresses (%d ready)", n, ready)
	}
	return fmt.Sprintf("1 address (%d ready)", ready)
}
