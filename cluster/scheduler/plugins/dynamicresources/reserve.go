package dynamicresources

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/resourceclaim"

	"kviz/cluster/client"
	"kviz/cluster/scheduler/framework"
	"kviz/cluster/sim"
)

// nameShares replaces the random names of shares of devices by others that no other claim has either, so that
// a run can be repeated.
func nameShares(a *resourcev1.AllocationResult, claim *resourcev1.ResourceClaim) {
	for i := range a.Devices.Results {
		r := &a.Devices.Results[i]
		if r.ShareID == nil {
			continue
		}
		h := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%s/%s/%s/%d", claim.UID, r.Request, r.Driver, r.Pool, r.Device, i))
		h[6], h[8] = h[6]&0x0f|0x80, h[8]&0x3f|0x80 // a UUID of version 8
		uid := types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16]))
		r.ShareID = &uid
	}
}

// Reserve keeps the devices that were found on the node for the claims, so that no other pod gets them before
// that is written.
func (pl *DynamicResources) Reserve(cs *framework.CycleState, _ *corev1.Pod, nodeName string) *framework.Status {
	s := framework.Read[*state](cs, Name)
	if s == nil || s.allocator == nil {
		return nil // nothing to allocate
	}
	special := s.specialClaim()
	wanting, own := 0, false
	for _, claim := range s.claims {
		if claim.Status.Allocation == nil {
			wanting++
			own = own || claim != special
		}
	}
	c := s.nodes[nodeName]
	if c == nil || len(c.allocations) == 0 {
		if !own {
			return nil // device plugins of the node have the extended resources
		}
		return broken(errors.New("claim allocation not found for node"))
	}
	if len(c.allocations) != wanting {
		return broken(fmt.Errorf("internal error, have %d allocations, %d claims to allocate, want %d claims", len(c.allocations), wanting, wanting))
	}
	next := 0
	for i, claim := range s.claims {
		if claim.Status.Allocation != nil {
			continue
		}
		allocation := &c.allocations[next]
		next++
		s.about[i].allocation = allocation
		if claim == special {
			claim = c.special
		}
		claim = withFinalizer(claim.DeepCopy())
		claim.Status.Allocation = allocation
		if err := pl.Cluster.ResourceClaims().depart(claim.UID, claim); err != nil {
			return broken(fmt.Errorf("internal error, couldn't signal allocation for claim %s: %w", claim.Name, err))
		}
	}
	return nil
}

func withFinalizer(claim *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	if !slices.Contains(claim.Finalizers, resourcev1.Finalizer) {
		claim.Finalizers = append(claim.Finalizers, resourcev1.Finalizer)
	}
	return claim
}

// Unreserve gives the devices back, and takes the pod out of the claims that were written already. Their
// allocations stay: the next attempt uses them.
func (pl *DynamicResources) Unreserve(t *sim.Task, cs *framework.CycleState, pod *corev1.Pod, _ string) {
	s := framework.Read[*state](cs, Name)
	if s == nil || len(s.claims) == 0 {
		return
	}
	for _, claim := range s.claims[:s.own] {
		if pl.Cluster.ResourceClaims().land(claim.UID) {
			pl.Cluster.ResourceClaims().restore(t, claim.Namespace, claim.Name)
		}
		if claim.Status.Allocation == nil || !resourceclaim.IsReservedForPod(pod, claim, false) {
			continue
		}
		patch, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"uid": claim.UID},
			"status":   map[string]any{"reservedFor": []any{map[string]any{"$patch": "delete", "uid": pod.UID}}},
		})
		if err == nil {
			// If this fails, another attempt comes here again.
			_, _ = pl.Client.Patch(t, client.ResourceClaims, claim.Namespace, claim.Name, types.StrategicMergePatchType, patch, "status")
		}
	}
	pl.unreserveExtended(t, s)
}
