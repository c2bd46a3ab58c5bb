package endpointslicemirroring

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
)

// sync brings the slices of one object of Endpoints in line with it (syncEndpoints).
func (c *Controller) sync(run *reconcile.Run) error {
	var have []*discoveryv1.EndpointSlice
	for _, o := range c.slices.ByIndex(mirrored, run.Key) {
		have = append(have, o.(*discoveryv1.EndpointSlice))
	}
	obj, ok := c.endpoints.Get(run.Key)
	if !ok {
		run.Gone()
		return c.clean(run, have, "there are no Endpoints "+run.Name)
	}
	e := obj.(*corev1.Endpoints)
	if !toMirror(e) {
		return c.clean(run, have, "Endpoints "+run.Name+" are not to be mirrored")
	}
	svc, ok := c.services.Get(run.Key)
	switch {
	case !ok:
		return c.clean(run, have, "there is no Service "+run.Name)
	case svc.(*corev1.Service).Spec.Selector != nil:
		return c.clean(run, have, "Service "+run.Name+" has a selector")
	}
	if err := c.tracker.Await(run.Key, have, c.loop.NumRequeues(run.Key)); err != nil {
		return err
	}
	return c.carryOut(run, e, c.mirror(run, e, have))
}

// clean deletes the slices of Endpoints that are not mirrored (deleteMirroredSlices).
func (c *Controller) clean(run *reconcile.Run, have []*discoveryv1.EndpointSlice, why string) error {
	delete(c.tracker, run.Key)
	var errs []error
	for _, s := range have {
		run.Act("delete", client.RefOf(s), nil, tally(s), "%s: delete slice %s", why, s.Name)
		errs = append(errs, c.Client.Delete(run.T, client.EndpointSlices, s.Namespace, s.Name, metav1.DeleteOptions{}))
	}
	return errors.Join(errs...)
}

// mirror says which slices are to be written, and on the Endpoints what cannot be mirrored
// (reconcile).
func (c *Controller) mirror(run *reconcile.Run, e *corev1.Endpoints, have []*discoveryv1.EndpointSlice) *plan {
	want, invalid, skipped := groupsOf(e)
	if invalid > 0 {
		c.Events.Event(run.T, e, corev1.EventTypeWarning, "InvalidIPAddress", "Skipped %d invalid IP addresses when mirroring to EndpointSlices", invalid)
	}
	if skipped > invalid {
		c.Events.Event(run.T, e, corev1.EventTypeWarning, "TooManyAddressesToMirror",
			"A max of %d addresses can be mirrored to EndpointSlices per Endpoints subset. %d addresses were skipped", MaxEndpoints, skipped)
	}
	p := planOf(e, want, have)
	for _, s := range p.keep {
		if !c.tracker.Has(s) {
			c.tracker.Update(s)
		}
	}
	return p
}

// carryOut writes the plan (finalize).
func (c *Controller) carryOut(run *reconcile.Run, e *corev1.Endpoints, p *plan) error {
	if e.DeletionTimestamp != nil {
		p.create = nil
	}
	for _, s := range p.create {
		run.Act("create", client.EndpointSlices.Ref(s.Namespace, ""), tally(s), nil, "Endpoints %s are not in a slice: create one with %s", e.Name, tally(s))
		made, err := client.Create(run.T, c.Client, client.EndpointSlices, s.Namespace, s)
		if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("failed to create EndpointSlice for Endpoints %s/%s: %w", e.Namespace, e.Name, err)
		}
		c.tracker.Update(made)
	}
	for _, s := range p.update {
		run.Act("update", client.RefOf(s), tally(s), nil, "slice %s is not what Endpoints %s say: update it to %s", s.Name, e.Name, tally(s))
		updated, err := client.Update(run.T, c.Client, client.EndpointSlices, s.Namespace, s)
		if err != nil {
			return fmt.Errorf("failed to update %s EndpointSlice for Endpoints %s/%s: %w", s.Name, e.Namespace, e.Name, err)
		}
		c.tracker.Update(updated)
	}
	for _, s := range p.remove {
		run.Act("delete", client.RefOf(s), nil, tally(s), "Endpoints %s no longer need slice %s: delete it", e.Name, s.Name)
		if err := c.Client.Delete(run.T, client.EndpointSlices, s.Namespace, s.Name, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("failed to delete %s EndpointSlice for Endpoints %s/%s: %w", s.Name, e.Namespace, e.Name, err)
		}
		c.tracker.ExpectDeletion(s)
	}
	return nil
}

// tally is "3 IPv4 endpoints".
func tally(s *discoveryv1.EndpointSlice) string {
	if len(s.Endpoints) == 1 {
		return fmt.Sprintf("1 %s endpoint", s.AddressType)
	}
	return fmt.Sprintf("%d %s endpoints", len(s.Endpoints), s.AddressType)
}
