package endpointslice

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/controller/pods"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/services"
)

// sync brings the slices of one Service in line with its pods (syncService).
func (c *Controller) sync(run *reconcile.Run) error {
	obj, ok := c.services.Get(run.Key)
	if !ok {
		// Its slices are the garbage collector's: they name it as their owner.
		delete(c.tracker, run.Key)
		delete(c.triggers, run.Key)
		run.Gone()
		return nil
	}
	svc := obj.(*corev1.Service)
	if svc.Spec.Type == corev1.ServiceTypeExternalName || svc.Spec.Selector == nil {
		return nil
	}
	var existing []*discoveryv1.EndpointSlice
	for _, o := range c.slices.ByIndex(byServiceLabels, run.Key) {
		if s := o.(*discoveryv1.EndpointSlice); s.DeletionTimestamp == nil {
			existing = append(existing, s)
		}
	}
	if err := c.tracker.Await(run.Key, existing, c.loop.NumRequeues(run.Key)); err != nil {
		return err
	}
	behind := services.Behind(svc, c.pods)
	run.Look(len(behind))
	changed := c.triggers.LastChange(run.Key, svc, behind)
	if err := c.reconcile(run, svc, behind, existing, changed); err != nil {
		c.Events.Event(run.T, svc, corev1.EventTypeWarning, "FailedToUpdateEndpointSlices",
			"Error updating Endpoint Slices for Service %s/%s: %v", svc.Namespace, svc.Name, err)
		return err
	}
	return nil
}

// reconcile handles each address family on its own (reconciler.go Reconcile).
func (c *Controller) reconcile(run *reconcile.Run, svc *corev1.Service, behind []*corev1.Pod, existing []*discoveryv1.EndpointSlice, changed time.Time) error {
	families := addressTypes(svc)
	all := &plan{}
	var errs []error
	for _, family := range families {
		var ours []*discoveryv1.EndpointSlice
		for _, s := range existing {
			if s.AddressType == family {
				ours = append(ours, s)
			}
		}
		p, err := c.planFamily(svc, behind, ours, family)
		if err != nil {
			errs = append(errs, err)
		}
		all.join(p)
	}
	for _, s := range existing {
		if !supported(families, s.AddressType) {
			all.remove = append(all.remove, s)
		}
	}
	if err := c.carryOut(run, svc, all, changed); err != nil {
		errs = append(errs, err)
	}
	err := errors.Join(errs...)
	if err == nil {
		run.Converged(client.RefOf(svc), svc.Generation, len(all.create)+len(all.update)+len(all.remove) == 0)
		run.Converged(client.RefOf(svc), svc.Generation, true)
	}
	return err
}

// planFamily groups the endpoints by the ports they have (a named port can be
// another number in each pod) and packs each group (reconcileByAddressType).
func (c *Controller) planFamily(svc *corev1.Service, behind []*corev1.Pod, existing []*discoveryv1.EndpointSlice, family discoveryv1.AddressType) (*plan, error) {
	p := &plan{}
	byPorts := map[string][]*discoveryv1.EndpointSlice{}
	var order []string
	for _, s := range existing {
		if !ownedBy(s, svc) {
			p.remove = append(p.remove, s)
			continue
		}
		key := services.PortKey(s.Ports)
		if byPorts[key] == nil {
			order = append(order, key)
		}
		byPorts[key] = append(byPorts[key], s)
	}
	groups, errs := c.group(svc, behind, family)
	for _, g := range groups {
		p.join(pack(svc, g, byPorts[g.key], family))
		delete(byPorts, g.key)
	}
	for _, key := range order {
		p.remove = append(p.remove, byPorts[key]...) // nobody has these ports any more
	}
	if len(existing) == len(p.remove) && len(p.create) == 0 {
		// A Service with no endpoints has one slice that says so.
		placeholder := newSlice(svc, nil, family)
		if len(p.remove) == 1 && isPlaceholder(p.remove[0], placeholder) {
			p.remove = nil
		} else {
			p.create = append(p.create, placeholder)
		}
	}
	return p, errors.Join(errs...)
}

// group is the endpoints with one set of ports.
type group struct {
	key       string
	ports     []discoveryv1.EndpointPort
	endpoints []discoveryv1.Endpoint
}

func (c *Controller) group(svc *corev1.Service, behind []*corev1.Pod, family discoveryv1.AddressType) (groups []*group, errs []error) {
	byKey := map[string]*group{}
	for _, pod := range behind {
		if pods.Terminal(pod) || !services.Addressed(pod) {
			continue
		}
		ports := endpointPorts(svc, pod)
		key := services.PortKey(ports)
		g := byKey[key]
		if g == nil {
			g = &group{key: key, ports: services.InOrder(ports)}
			byKey[key] = g
			groups = append(groups, g)
		}
		var node *corev1.Node
		if obj, ok := c.nodes.Get(pod.Spec.NodeName); ok {
			node = obj.(*corev1.Node)
		} else if !svc.Spec.PublishNotReadyAddresses {
			errs = append(errs, fmt.Errorf("skipping Pod %s for Service %s/%s: Node %s Not Found", pod.Name, svc.Namespace, svc.Name, pod.Spec.NodeName))
			continue
		}
		if e := endpointOf(pod, node, svc, family); len(e.Addresses) > 0 {
			g.endpoints = append(g.endpoints, e)
		}
	}
	return groups, errs
}

// plan is which slices to create, update and delete.
type plan struct {
	create, update, remove []*discoveryv1.EndpointSlice
}

func (p *plan) join(o *plan) {
	p.create = append(p.create, o.create...)
	p.update = append(p.update, o.update...)
	p.remove = append(p.remove, o.remove...)
}

// reuse turns creations into updates of slices that would be deleted
// (finalize).
func (p *plan) reuse(svc *corev1.Service) {
	var kept []*discoveryv1.EndpointSlice
	for _, old := range p.remove {
		last := len(p.create) - 1
		if last >= 0 && old.AddressType == p.create[last].AddressType && ownedBy(old, svc) {
			s := p.create[last]
			s.Name, s.GenerateName, s.ResourceVersion, s.UID = old.Name, "", old.ResourceVersion, old.UID
			p.create, p.update = p.create[:last], append(p.update, s)
			continue
		}
		kept = append(kept, old)
	}
	p.remove = kept
}

// carryOut writes the plan.
func (c *Controller) carryOut(run *reconcile.Run, svc *corev1.Service, p *plan, changed time.Time) error {
	p.reuse(svc)
	if svc.DeletionTimestamp != nil {
		p.create = nil // the garbage collector is at work
	}
	for _, s := range p.create {
		stamp(s, changed)
		run.Act("create", client.EndpointSlices.Ref(s.Namespace, ""), tally(s), nil,
			"Service %s needs one more slice: create it with %s", svc.Name, tally(s))
		made, err := client.Create(run.T, c.Client, client.EndpointSlices, s.Namespace, s)
		if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("failed to create EndpointSlice for Service %s/%s: %w", svc.Namespace, svc.Name, err)
		}
		c.tracker.Update(made)
	}
	for _, s := range p.update {
		stamp(s, changed)
		was := "not in the cache"
		if obj, ok := c.slices.Get(s.Namespace + "/" + s.Name); ok {
			was = tally(obj.(*discoveryv1.EndpointSlice))
		}
		run.Act("update", client.RefOf(s), tally(s), was, "slice %s has %s, the pods behind Service %s make it %s: update it", s.Name, was, svc.Name, tally(s))
		updated, err := client.Update(run.T, c.Client, client.EndpointSlices, s.Namespace, s)
		if err != nil {
			return fmt.Errorf("failed to update %s EndpointSlice for Service %s/%s: %w", s.Name, svc.Namespace, svc.Name, err)
		}
		c.tracker.Update(updated)
	}
	for _, s := range p.remove {
		run.Act("delete", client.RefOf(s), nil, tally(s), "Service %s no longer needs slice %s: delete it", svc.Name, s.Name)
		if err := c.Client.Delete(run.T, client.EndpointSlices, s.Namespace, s.Name, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("failed to delete %s EndpointSlice for Service %s/%s: %w", s.Name, svc.Namespace, svc.Name, err)
		}
		c.tracker.ExpectDeletion(s)
	}
	return nil
}

// tally is "3 endpoints (2 ready)".
func tally(s *discoveryv1.EndpointSlice) string {
	ready := 0
	for _, e := range s.Endpoints {
		if e.Conditions.Ready != nil && *e.Conditions.Ready {
			ready++
		}
	}
	if len(s.Endpoints) == 1 {
		return fmt.Sprintf("1 endpoint (%d ready)", ready)
	}
	return fmt.Sprintf("%d endpoints (%d ready)", len(s.Endpoints), ready)
}
