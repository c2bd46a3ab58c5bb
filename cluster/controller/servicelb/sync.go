package servicelb

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/sim"
)

// sync brings the load balancer of one Service in line (syncService).
func (c *Controller) sync(run *reconcile.Run) error {
	obj, ok := c.services.Get(run.Key)
	if !ok {
		run.Gone()
		return c.gone(run)
	}
	svc := obj.(*corev1.Service)
	if was := c.known[run.Key]; was != nil && was.UID != svc.UID {
		// Deleted and made again: only possible without the finalizer.
		if err := c.remove(run, was); err != nil {
			return err
		}
	}
	c.known[run.Key] = svc
	wanted, err := c.syncLoadBalancer(run, svc)
	if err != nil {
		c.Events.Event(run.T, svc, corev1.EventTypeWarning, "SyncLoadBalancerFailed", "Error syncing load balancer: %v", err)
		return err
	}
	if !wanted {
		c.forget(run.Key)
	}
	return nil
}

func (c *Controller) forget(key string) {
	delete(c.known, key)
	delete(c.synced, key)
}

// gone takes away what is left of a Service that went without the finalizer (processServiceDeletion).
func (c *Controller) gone(run *reconcile.Run) error {
	was := c.known[run.Key]
	if was == nil {
		return nil
	}
	if err := c.remove(run, was); err != nil {
		return err
	}
	c.forget(run.Key)
	return nil
}

// remove is processLoadBalancerDelete.
func (c *Controller) remove(run *reconcile.Run, svc *corev1.Service) error {
	if !Wants(svc) {
		return nil
	}
	c.Events.Event(run.T, svc, corev1.EventTypeNormal, "DeletingLoadBalancer", "Deleting load balancer")
	run.Act("delete", client.RefOf(svc), 0, 1, "The Service %s is gone: have the cloud delete its load balancer", run.Key)
	if err := c.cloud.Delete(run.T, svc); err != nil {
		c.Events.Event(run.T, svc, corev1.EventTypeWarning, "DeleteLoadBalancerFailed", "Error deleting load balancer: %v", err)
		return err
	}
	c.Events.Event(run.T, svc, corev1.EventTypeNormal, "DeletedLoadBalancer", "Deleted load balancer")
	return nil
}

// syncLoadBalancer makes the load balancer of a Service or takes it away, and says which
// (syncLoadBalancerIfNeeded).
func (c *Controller) syncLoadBalancer(run *reconcile.Run, svc *corev1.Service) (wanted bool, err error) {
	status := &corev1.LoadBalancerStatus{}
	if wanted = Wants(svc) && !needsCleanup(svc); wanted {
		if status, err = c.ensure(run, svc); err != nil {
			return wanted, err
		}
	} else if err = c.cleanUp(run, svc); err != nil {
		return wanted, err
	}
	if sameStatus(&svc.Status.LoadBalancer, status) {
		run.Converged(client.RefOf(svc), svc.Generation, wanted)
		return wanted, nil
	}
	updated := svc.DeepCopy()
	updated.Status.LoadBalancer = *status
	run.Act("patch", client.RefOf(svc), addresses(status), addresses(&svc.Status.LoadBalancer), "%s: write it into the Service's status", statusWhy(run.Key, status))
	// One that went as soon as its finalizer was gone has no status to be written.
	if err := c.patch(run.T, svc, updated); err != nil && !apierrors.IsNotFound(err) {
		return wanted, fmt.Errorf("failed to update load balancer status: %v", err)
	}
	run.Converged(client.RefOf(svc), svc.Generation, wanted)
	return wanted, nil
}

func statusWhy(key string, status *corev1.LoadBalancerStatus) string {
	if len(status.Ingress) == 0 {
		return fmt.Sprintf("The Service %s has no load balancer any more", key)
	}
	return fmt.Sprintf("The load balancer of %s has the address %s", key, addresses(status))
}

// ensure has the cloud make the load balancer, or change it.
func (c *Controller) ensure(run *reconcile.Run, svc *corev1.Service) (*corev1.LoadBalancerStatus, error) {
	c.Events.Event(run.T, svc, corev1.EventTypeNormal, "EnsuringLoadBalancer", "Ensuring load balancer")
	if !finalized(svc) {
		updated := svc.DeepCopy()
		updated.Finalizers = append(updated.Finalizers, Finalizer)
		run.Act("patch", client.RefOf(svc), "the finalizer", "no finalizer",
			"The Service %s wants a load balancer: put the finalizer %s on it, so that it cannot go before its load balancer has", run.Key, Finalizer)
		if err := c.patch(run.T, svc, updated); err != nil {
			return nil, fmt.Errorf("failed to add load balancer cleanup finalizer: %v", err)
		}
	}
	nodes := c.balanced()
	run.Look(c.nodes.Len())
	if len(nodes) == 0 {
		c.Events.Event(run.T, svc, corev1.EventTypeWarning, "UnAvailableLoadBalancer", "There are no available nodes for LoadBalancer")
	}
	c.synced[run.Key] = nodes
	run.Act("ensure", client.RefOf(svc), 1, len(svc.Status.LoadBalancer.Ingress), "The Service %s wants a load balancer: ask the cloud for one that forwards %s to %s",
		run.Key, ports(svc), c.among(nodes))
	status, err := c.cloud.Ensure(run.T, svc, nodes)
	if err != nil {
		return nil, fmt.Errorf("failed to ensure load balancer: %w", err)
	}
	c.Events.Event(run.T, svc, corev1.EventTypeNormal, "EnsuredLoadBalancer", "Ensured load balancer")
	return status, nil
}

// cleanUp has the cloud delete the load balancer of a Service that goes, or wants none any
// more, and lets the Service go.
func (c *Controller) cleanUp(run *reconcile.Run, svc *corev1.Service) error {
	why := fmt.Sprintf("The Service %s is of type %s now", run.Key, svc.Spec.Type)
	switch {
	case svc.DeletionTimestamp != nil:
		why = fmt.Sprintf("The Service %s is being deleted", run.Key)
	case svc.Spec.LoadBalancerClass != nil:
		why = fmt.Sprintf("The Service %s is of the load balancer class %s now", run.Key, *svc.Spec.LoadBalancerClass)
	}
	there, err := c.cloud.Get(run.T, svc)
	if err != nil {
		return fmt.Errorf("failed to check if load balancer exists before cleanup: %v", err)
	}
	if there != nil {
		c.Events.Event(run.T, svc, corev1.EventTypeNormal, "DeletingLoadBalancer", "Deleting load balancer")
		run.Act("delete", client.RefOf(svc), 0, 1, "%s: have the cloud delete its load balancer %s", why, addresses(there))
		if err := c.cloud.Delete(run.T, svc); err != nil {
			return fmt.Errorf("failed to delete load balancer: %v", err)
		}
	}
	if finalized(svc) {
		updated := svc.DeepCopy()
		updated.Finalizers = slices.DeleteFunc(updated.Finalizers, func(f string) bool { return f == Finalizer })
		run.Act("patch", client.RefOf(svc), "no finalizer", "the finalizer", "%s, and its load balancer is gone: take the finalizer %s off", why, Finalizer)
		if err := c.patch(run.T, svc, updated); err != nil {
			return fmt.Errorf("failed to remove load balancer cleanup finalizer: %v", err)
		}
	}
	c.Events.Event(run.T, svc, corev1.EventTypeNormal, "DeletedLoadBalancer", "Deleted load balancer")
	return nil
}

// patch writes what differs of a Service's status or metadata (service/helpers PatchService).
func (c *Controller) patch(t *sim.Task, svc, updated *corev1.Service) error {
	updated.Spec = svc.Spec
	old, err := json.Marshal(svc)
	if err != nil {
		return fmt.Errorf("failed to Marshal oldData for svc %s/%s: %v", svc.Namespace, svc.Name, err)
	}
	now, err := json.Marshal(updated)
	if err != nil {
		return fmt.Errorf("failed to Marshal newData for svc %s/%s: %v", updated.Namespace, updated.Name, err)
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(old, now, corev1.Service{})
	if err != nil {
		return fmt.Errorf("failed to CreateTwoWayMergePatch for svc %s/%s: %v", updated.Namespace, updated.Name, err)
	}
	_, err = c.Client.Patch(t, client.Services, svc.Namespace, svc.Name, types.StrategicMergePatchType, patch, "status")
	return err
}

func addresses(status *corev1.LoadBalancerStatus) string {
	var all []string
	for _, in := range status.Ingress {
		if all = append(all, in.IP); in.IP == "" {
			all[len(all)-1] = in.Hostname
		}
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}

func ports(svc *corev1.Service) string {
	var all []string
	for _, p := range svc.Spec.Ports {
		all = append(all, fmt.Sprintf("%d/%s", p.Port, p.Protocol))
	}
	return strings.Join(all, ", ")
}
