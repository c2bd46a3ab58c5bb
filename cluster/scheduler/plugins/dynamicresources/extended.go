package dynamicresources

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"

	"kviz/cluster/client"
	"kviz/cluster/scheduler/framework"
	"kviz/cluster/sim"
)

// A pod that requests an extended resource which a DeviceClass stands for has no claim of its own: the scheduler
// makes one. In the cycle it has no name and, on each node, requests of its own: what device plugins of
// the node have needs no claim. PreBind creates it.
//
// Mirrors extendeddynamicresources.go.

// specialClaimInMemName is no name that a claim could have.
const specialClaimInMemName = "<extended-resources>"

// The created claim is waited for so long, looked at so often.
const (
	assumeTimeout = 120 * time.Second
	assumePeriod  = time.Second
)

// extended reports whether devices may stand for a resource (schedutil.IsDRAExtendedResourceName).
func extended(name corev1.ResourceName) bool {
	return v1helper.IsExtendedResourceName(name) || strings.HasPrefix(string(name), resourcev1.ResourceDeviceClassPrefix)
}

// preFilterExtended is the special claim, nil if the pod needs none: what an earlier attempt has left, or a new one.
func (pl *DynamicResources) preFilterExtended(cs *framework.CycleState, pod *corev1.Pod, s *state) *resourcev1.ResourceClaim {
	wants := cs.Requests(pod).ScalarResources
	backed := false
	for name, n := range wants { // any order: is there one?
		backed = backed || n != 0 && extended(name) && pl.Cluster.DeviceClassOf(name) != nil
	}
	if !backed {
		return nil
	}
	s.scalars = wants
	var left *resourcev1.ResourceClaim
	pl.Cluster.ResourceClaims().latest.Scan(func(_ string, c *resourcev1.ResourceClaim) bool {
		if c.Annotations[resourcev1.ExtendedResourceClaimAnnotation] == "true" && owns(pod, c) {
			left = c
		}
		return left == nil
	})
	if left != nil {
		return left
	}
	yes := true
	return &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: specialClaimInMemName, UID: types.UID(specialClaimInMemName + " of " + string(pod.UID)),
		GenerateName:    pod.Name + "-extended-resources-",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: &yes}},
		Annotations:     map[string]string{resourcev1.ExtendedResourceClaimAnnotation: "true"},
	}}
}

func owns(pod *corev1.Pod, c *resourcev1.ResourceClaim) bool {
	return slices.ContainsFunc(c.OwnerReferences, func(r metav1.OwnerReference) bool {
		return r.Name == pod.Name && r.UID == pod.UID && r.Controller != nil && *r.Controller
	})
}

// filterExtended is the special claim with its requests on a node and what they are for, or why the node is
// rejected; nil if the node has all itself.
func (pl *DynamicResources) filterExtended(s *state, pod *corev1.Pod, node *framework.NodeInfo) (*resourcev1.ResourceClaim, []corev1.ContainerExtendedResourceRequest, *framework.Status) {
	special := s.specialClaim()
	if special == nil {
		return nil, nil, nil
	}
	if special.Spec.Devices.Requests != nil {
		return nil, nil, rejected("cannot schedule extended resource claim") // an earlier attempt has left it: PostFilter deletes it
	}
	var names []corev1.ResourceName
	for _, name := range slices.Sorted(maps.Keys(s.scalars)) {
		if !extended(name) || s.scalars[name] == 0 {
			continue
		}
		allocatable, there := node.Allocatable.ScalarResources[name]
		switch {
		case allocatable == 0 && pl.Cluster.DeviceClassOf(name) != nil:
			names = append(names, name)
		case !there:
			return nil, nil, rejected("cannot fit resource")
		}
	}
	if s.own == 0 && len(names) == 0 || special.Status.Allocation != nil {
		return nil, nil, nil
	}
	claim := special.DeepCopy()
	var mappings []corev1.ContainerExtendedResourceRequest
	claim.Spec.Devices.Requests, mappings = pl.requests(pod, names)
	return claim, mappings, nil
}

// requests are what a claim has to ask for so that the pod's containers get these resources. An init container
// that ends before the others start uses their devices, and more if they are not enough.
//
// Mirrors createRequestsAndMappings.
func (pl *DynamicResources) requests(pod *corev1.Pod, names []corev1.ResourceName) (requests []resourcev1.DeviceRequest, mappings []corev1.ContainerExtendedResourceRequest) {
	containers := slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
	short := func(i int) bool {
		r := containers[i].RestartPolicy
		return i < len(pod.Spec.InitContainers) && (r == nil || *r != corev1.ContainerRestartPolicyAlways)
	}
	for _, name := range names {
		class := pl.Cluster.DeviceClassOf(name)
		if class == nil {
			continue
		}
		long := make([]*resourcev1.DeviceRequest, len(containers))
		for i := range containers {
			if !short(i) {
				var of []corev1.ContainerExtendedResourceRequest
				long[i], of = request(i, &containers[i], name, class.Name, nil)
				mappings = append(mappings, of...)
			}
		}
		var most *resourcev1.DeviceRequest
		var ofShort []corev1.ContainerExtendedResourceRequest
		var own []string
		for i := range containers {
			if !short(i) {
				continue
			}
			r, of := request(i, &containers[i], name, class.Name, long[i:])
			if r != nil {
				own = append(own, r.Name)
				if most == nil || most.Exactly.Count < r.Exactly.Count {
					most = r
				}
			}
			ofShort = append(ofShort, of...)
		}
		for i := range ofShort {
			if slices.Contains(own, ofShort[i].RequestName) {
				ofShort[i].RequestName = most.Name
			}
		}
		mappings = append(mappings, ofShort...)
		if most != nil {
			requests = append(requests, *most)
		}
		for _, r := range long {
			if r != nil {
				requests = append(requests, *r)
			}
		}
	}
	slices.SortFunc(requests, func(a, b resourcev1.DeviceRequest) int { return strings.Compare(a.Name, b.Name) })
	return requests, mappings
}

// request is what a container needs beyond the requests that it can use, nil if nothing, and which ones are for it.
//
// Mirrors createResourceRequestAndMappings.
func request(index int, c *corev1.Container, name corev1.ResourceName, class string, usable []*resourcev1.DeviceRequest) (*resourcev1.DeviceRequest, []corev1.ContainerExtendedResourceRequest) {
	q, ok := c.Resources.Requests[name]
	if !ok {
		return nil, nil
	}
	want, ok := q.AsInt64()
	if !ok || want == 0 {
		return nil, nil
	}
	var mappings []corev1.ContainerExtendedResourceRequest
	sum := int64(0)
	for _, r := range usable {
		if r == nil {
			continue
		}
		sum += r.Exactly.Count
		mappings = append(mappings, corev1.ContainerExtendedResourceRequest{ContainerName: c.Name, ResourceName: string(name), RequestName: r.Name})
		if sum >= want {
			return nil, mappings
		}
	}
	r := &resourcev1.DeviceRequest{
		Name:    fmt.Sprintf("container-%d-request-%d", index, slices.Index(slices.Sorted(maps.Keys(c.Resources.Requests)), name)),
		Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: want - sum},
	}
	return r, append(mappings, corev1.ContainerExtendedResourceRequest{ContainerName: c.Name, ResourceName: string(name), RequestName: r.Name})
}

// createExtended creates the special claim as it is on the node.
func (pl *DynamicResources) createExtended(t *sim.Task, s *state, nodeName string) (*resourcev1.ResourceClaim, error) {
	c := s.nodes[nodeName]
	if c == nil || c.special == nil {
		return nil, fmt.Errorf("extended resource claim not found for node %s", nodeName)
	}
	claim := c.special.DeepCopy()
	claim.Status.Allocation, claim.Name, claim.UID = nil, "", ""
	created, err := client.Create(t, pl.Client, client.ResourceClaims, claim.Namespace, claim)
	if err != nil {
		return nil, fmt.Errorf("create claim for extended resources %s/: %w", claim.Namespace, err)
	}
	return created, nil
}

// awaitSeen waits until the informer has seen the created claim, and then has it be as it was written.
//
// Mirrors waitForExtendedClaimInAssumeCache.
func (pl *DynamicResources) awaitSeen(t *sim.Task, created, is *resourcev1.ResourceClaim) {
	if is == nil {
		is = created
	}
	for end := t.Now().Add(assumeTimeout); t.Now().Before(end); t.Sleep(assumePeriod) {
		var missing notFound
		if err := pl.Cluster.ResourceClaims().assume(t, is); !errors.As(err, &missing) {
			return
		}
	}
}

// patchExtended notes on the pod which of its containers get what.
func (pl *DynamicResources) patchExtended(t *sim.Task, s *state, pod *corev1.Pod, claim *resourcev1.ResourceClaim, nodeName string) error {
	c := s.nodes[nodeName]
	if c == nil || len(c.mappings) == 0 {
		return fmt.Errorf("nil or empty request mappings, no update of pod %s/%s ExtendedResourceClaimStatus", pod.Namespace, pod.Name)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": map[string]any{
		"extendedResourceClaimStatus": corev1.PodExtendedResourceClaimStatus{RequestMappings: c.mappings, ResourceClaimName: claim.Name},
	}})
	if err == nil {
		_, err = pl.Client.Patch(t, client.Pods, pod.Namespace, pod.Name, types.StrategicMergePatchType, patch, "status")
	}
	if err != nil {
		return fmt.Errorf("update pod %s/%s ExtendedResourceClaimStatus: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

// unreserveExtended deletes the special claim if it was created.
func (pl *DynamicResources) unreserveExtended(t *sim.Task, s *state) {
	special := s.specialClaim()
	if special == nil {
		return
	}
	if pl.Cluster.ResourceClaims().land(s.special) {
		pl.Cluster.ResourceClaims().restore(t, special.Namespace, special.Name)
	}
	if special.Name != specialClaimInMemName {
		_ = pl.deleteClaim(t, special) // the garbage collector deletes it with its pod at the latest
	}
}

// deleteClaim takes off the finalizer, and deletes the claim.
func (pl *DynamicResources) deleteClaim(t *sim.Task, claim *resourcev1.ResourceClaim) error {
	_, err := onConflict(t, pl, claim, func(claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
		claim.Finalizers = slices.DeleteFunc(claim.Finalizers, func(f string) bool { return f == resourcev1.Finalizer })
		is, err := client.Update(t, pl.Client, client.ResourceClaims, claim.Namespace, claim)
		if err != nil {
			return nil, fmt.Errorf("update resourceclaim %s: %w", keyOf(claim), err)
		}
		return is, nil
	})
	if err != nil {
		return err
	}
	if err := pl.Client.Delete(t, client.ResourceClaims, claim.Namespace, claim.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}
