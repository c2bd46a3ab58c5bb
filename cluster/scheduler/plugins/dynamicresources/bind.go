package dynamicresources

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/resourceclaim"

	"kviz/cluster/client"
	"kviz/cluster/scheduler/framework"
	"kviz/cluster/sim"
)

// A write that another one came before is tried so often, after so long (client-go's retry.DefaultRetry), and a
// binding looks so often whether its devices are ready.
const (
	tries      = 5
	retryAfter = 10 * time.Millisecond
	pollPeriod = 5 * time.Second
)

var (
	errBindingTimeout = errors.New("device binding timeout")
	errBindingFailed  = errors.New("device binding failed")
)

// PreBind writes what was reserved, and waits until the devices are ready that say that they must be.
func (pl *DynamicResources) PreBind(t *sim.Task, cs *framework.CycleState, pod *corev1.Pod, nodeName string) *framework.Status {
	s := framework.Read[*state](cs, Name)
	if s == nil || len(s.claims) == 0 {
		return nil
	}
	var written []types.UID
	for i, claim := range s.claims {
		if resourceclaim.IsReservedForPod(pod, claim, false) {
			continue
		}
		is, err := pl.bindClaim(t, s, i, pod, nodeName)
		if err != nil {
			return broken(err)
		}
		if s.about[i].allocation != nil {
			written = append(written, claim.UID)
		}
		s.claims[i] = is // for Unreserve
	}
	if st := pl.await(t, s, pod, nodeName); st != nil {
		return st
	}
	for _, uid := range written {
		pl.Cluster.ResourceClaims().land(uid)
	}
	return nil
}

// bindClaim writes a claim's allocation, if it had none, and that it is reserved for the pod.
func (pl *DynamicResources) bindClaim(t *sim.Task, s *state, i int, pod *corev1.Pod, nodeName string) (*resourcev1.ResourceClaim, error) {
	claim, allocation, special := s.claims[i], s.about[i].allocation, s.claims[i] == s.specialClaim()
	if special && allocation == nil && claim.Spec.Devices.Requests == nil {
		return claim, nil // device plugins have what it would be for
	}
	if special && claim.Name == specialClaimInMemName {
		created, err := pl.createExtended(t, s, nodeName)
		if err != nil {
			return nil, err
		}
		claim = created
		s.claims[i] = claim // for Unreserve
	}
	is, err := onConflict(t, pl, claim, func(claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
		return pl.write(t, claim, allocation, pod)
	})
	if err == nil && !special {
		// One that is gone or newer meanwhile is none of ours.
		_ = pl.Cluster.ResourceClaims().assume(t, is)
	}
	if special && (err == nil || claim != nil) {
		pl.awaitSeen(t, claim, is)
	}
	if err != nil {
		return nil, err
	}
	if special {
		return is, pl.patchExtended(t, s, pod, is, nodeName)
	}
	return is, nil
}

// onConflict has a write tried again with the claim as it is now if another one came before.
func onConflict(t *sim.Task, pl *DynamicResources, claim *resourcev1.ResourceClaim, write func(*resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error)) (is *resourcev1.ResourceClaim, err error) {
	for try := range tries {
		if try > 0 {
			t.Sleep(retryAfter)
			latest, err := client.Get[*resourcev1.ResourceClaim](t, pl.Client, client.ResourceClaims, claim.Namespace, claim.Name)
			if err != nil {
				return nil, fmt.Errorf("get updated claim %s after conflict: %w", keyOf(claim), err)
			}
			claim = latest
		}
		if is, err = write(claim.DeepCopy()); !apierrors.IsConflict(err) {
			return is, err
		}
	}
	return is, err
}

// write is two requests, where the finalizer is new: it is no part of the status.
func (pl *DynamicResources) write(t *sim.Task, claim *resourcev1.ResourceClaim, allocation *resourcev1.AllocationResult, pod *corev1.Pod) (*resourcev1.ResourceClaim, error) {
	if claim.DeletionTimestamp != nil {
		return nil, fmt.Errorf("claim %s got deleted in the meantime", keyOf(claim))
	}
	if allocation != nil {
		if claim.Status.Allocation != nil {
			return nil, fmt.Errorf("claim %s got allocated elsewhere in the meantime", keyOf(claim))
		}
		if had := len(claim.Finalizers); len(withFinalizer(claim).Finalizers) > had {
			is, err := client.Update(t, pl.Client, client.ResourceClaims, claim.Namespace, claim)
			if err != nil {
				return nil, fmt.Errorf("add finalizer to claim %s: %w", keyOf(claim), err)
			}
			claim = is.DeepCopy()
		}
		claim.Status.Allocation = allocation.DeepCopy()
	}
	claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: pod.Name, UID: pod.UID})
	if claim.Status.Allocation == nil {
		return nil, fmt.Errorf("claim %s got deallocated elsewhere in the meantime", keyOf(claim))
	}
	if claim.Status.Allocation.AllocationTimestamp == nil {
		now := client.Now(t)
		claim.Status.Allocation.AllocationTimestamp = &now
	}
	is, err := client.UpdateStatus(t, pl.Client, client.ResourceClaims, claim.Namespace, claim)
	switch {
	case err == nil:
		return is, nil
	case allocation != nil:
		return nil, fmt.Errorf("add allocation and reservation to claim %s: %w", keyOf(claim), err)
	}
	return nil, fmt.Errorf("add reservation to claim %s: %w", keyOf(claim), err)
}

// await waits for devices with binding conditions.
func (pl *DynamicResources) await(t *sim.Task, s *state, pod *corev1.Pod, nodeName string) *framework.Status {
	if !conditional(s) {
		return nil
	}
	pl.Cluster.Eventf(t, pod, "BindingConditionsPending", "Scheduling", "waiting for binding conditions for device on node %s", nodeName)
	for end := t.Now().Add(pl.BindingTimeout); ; {
		done, err := pl.allReady(s)
		switch {
		case err != nil:
			return broken(err)
		case done:
			return nil
		case !t.Now().Before(end):
			return broken(fmt.Errorf("%w: %w", errBindingTimeout, context.DeadlineExceeded))
		}
		t.Sleep(min(pollPeriod, end.Sub(t.Now())))
	}
}

// Mirrors hasBindingConditions.
func conditional(s *state) bool {
	for _, claim := range s.claims {
		if a := claim.Status.Allocation; a != nil {
			for _, r := range a.Devices.Results {
				if len(r.BindingConditions) > 0 {
					return true
				}
			}
		}
	}
	return false
}

// Mirrors isPodReadyForBinding.
func (pl *DynamicResources) allReady(s *state) (bool, error) {
	for i, claim := range s.claims {
		claim, err := pl.Cluster.ResourceClaims().get(claim.Namespace, claim.Name)
		if err != nil {
			return false, err
		}
		s.claims[i] = claim
		done, err := ready(claim)
		switch {
		case err != nil:
			return false, err
		case !done && pl.late(claim):
			return false, fmt.Errorf("%w: claim=%s", errBindingTimeout, claim.Name)
		case !done:
			return false, nil
		}
	}
	return true, nil
}

// ready reports whether the devices of a claim are; an error is that one failed to get so.
//
// Mirrors isClaimReadyForBinding.
func ready(claim *resourcev1.ResourceClaim) (bool, error) {
	if claim.Status.Allocation == nil {
		return false, nil
	}
	for i := range claim.Status.Allocation.Devices.Results {
		r := &claim.Status.Allocation.Devices.Results[i]
		if len(r.BindingConditions) == 0 {
			continue
		}
		device := statusOf(claim, r)
		if device == nil {
			return false, nil
		}
		for _, name := range r.BindingFailureConditions {
			if c := apimeta.FindStatusCondition(device.Conditions, name); c != nil && c.Status == "True" {
				return false, fmt.Errorf("%w: claim=%s, reason=%s, message=%q", errBindingFailed, claim.Name, c.Reason, c.Message)
			}
		}
		for _, name := range r.BindingConditions {
			if !apimeta.IsStatusConditionTrue(device.Conditions, name) {
				return false, nil
			}
		}
	}
	return true, nil
}

func statusOf(claim *resourcev1.ResourceClaim, r *resourcev1.DeviceRequestAllocationResult) *resourcev1.AllocatedDeviceStatus {
	for i := range claim.Status.Devices {
		if d := &claim.Status.Devices[i]; d.Device == r.Device && d.Driver == r.Driver && d.Pool == r.Pool {
			return d
		}
	}
	return nil
}

// late reports whether a device of a claim took too long to get ready.
//
// Mirrors isClaimTimeout.
func (pl *DynamicResources) late(claim *resourcev1.ResourceClaim) bool {
	a := claim.Status.Allocation
	if a == nil || a.AllocationTimestamp == nil || !a.AllocationTimestamp.Add(pl.BindingTimeout).Before(pl.Cluster.Now()) {
		return false
	}
	for _, r := range a.Devices.Results {
		if r.BindingConditions != nil {
			return true
		}
	}
	return false
}
