package resourceclaim

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/utils/ptr"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
)

// syncPod makes the claims that a pod wants of templates, and reserves claims for a pod that
// is on a node though no scheduler has done so (syncPod).
func (c *Controller) syncPod(run *reconcile.Run, key string) error {
	obj, ok := c.pods.Get(key)
	if !ok {
		return nil
	}
	pod := obj.(*corev1.Pod)
	if pod.DeletionTimestamp != nil {
		return nil
	}
	names := map[string]string{}
	for i := range pod.Spec.ResourceClaims {
		wants := &pod.Spec.ResourceClaims[i]
		claim, err := c.ensure(run, pod, wants)
		if err != nil {
			c.Events.Event(run.T, pod, corev1.EventTypeWarning, "FailedResourceClaimCreation", "PodResourceClaim %s: %v", wants.Name, err)
			return fmt.Errorf("pod %s/%s, PodResourceClaim %s: %w", pod.Namespace, pod.Name, wants.Name, err)
		}
		if claim != nil {
			names[wants.Name] = claim.Name
		}
	}
	if len(names) > 0 {
		if err := c.tell(run, pod, names); err != nil {
			return fmt.Errorf("update pod %s/%s ResourceClaimStatuses: %w", pod.Namespace, pod.Name, err)
		}
	}
	if pod.Spec.NodeName == "" {
		return nil // the scheduler reserves
	}
	return c.reserve(run, pod)
}

// tell writes into the pod's status how its claims are called.
func (c *Controller) tell(run *reconcile.Run, pod *corev1.Pod, names map[string]string) error {
	var statuses []corev1.PodResourceClaimStatus
	for _, name := range slices.Sorted(maps.Keys(names)) {
		statuses = append(statuses, corev1.PodResourceClaimStatus{Name: name, ResourceClaimName: ptr.To(names[name])})
	}
	run.Act("patch", client.RefOf(pod), nil, nil, "%d claims of pod %s have got names: write them into its status, where the scheduler and the kubelet look for them", len(statuses), pod.Name)
	data, err := json.Marshal(map[string]any{"status": map[string]any{"resourceClaimStatuses": statuses}})
	if err != nil {
		return err
	}
	_, err = c.Client.Patch(run.T, client.Pods, pod.Namespace, pod.Name, types.StrategicMergePatchType, data, "status")
	return err
}

// ensure gives the claim that the pod's status is to name, making it if there is none; nil
// where the status is right (handleClaim).
func (c *Controller) ensure(run *reconcile.Run, pod *corev1.Pod, wants *corev1.PodResourceClaim) (*resourcev1.ResourceClaim, error) {
	name, own, err := resourceclaim.Name(pod, wants)
	switch {
	case errors.Is(err, resourceclaim.ErrClaimNotFound):
	case err != nil:
		return nil, fmt.Errorf("checking for claim before creating it: %w", err)
	case name == nil:
		return nil, nil
	case *name != "":
		is, err := c.find(run, pod.Namespace, *name)
		if err != nil {
			return nil, fmt.Errorf("checking claim existence: %w", err)
		}
		if is != nil && (!own || resourceclaim.IsForPod(pod, is, false) == nil) {
			return nil, nil
		}
	}
	if wants.ResourceClaimTemplateName == nil {
		return nil, nil
	}
	if orphan := c.orphan(run, pod, wants.Name); orphan != nil {
		return orphan, nil
	}
	of := *wants.ResourceClaimTemplateName
	obj, ok := c.templates.Get(informer.Key(pod.Namespace, of))
	if !ok {
		run.Waits("pod %s wants a claim of the ResourceClaimTemplate %s, and there is none: it is tried again, and the pod waits", pod.Name, of)
		return nil, fmt.Errorf("resource claim template %q: %w", of, apierrors.NewNotFound(client.ResourceClaimTemplates.GroupResource(), of))
	}
	claim := claimOf(pod, wants, obj.(*resourcev1.ResourceClaimTemplate))
	run.Act("create", client.ResourceClaims.Ref(pod.Namespace, claim.GenerateName), nil, nil,
		"pod %s wants a claim %s of the ResourceClaimTemplate %s, and has none: make it, to go with the pod", pod.Name, wants.Name, of)
	claim, err = client.Create(run.T, c.Client, client.ResourceClaims, pod.Namespace, claim)
	if err != nil {
		return nil, fmt.Errorf("create ResourceClaim : %w", err) // upstream names it by its name, which it has not yet
	}
	c.remember(run, claim)
	return claim, nil
}

// remember notes that a claim was made.
func (c *Controller) remember(run *reconcile.Run, claim *resourcev1.ResourceClaim) {
	oldest := ""
	for _, key := range slices.Sorted(maps.Keys(c.made)) {
		switch m := c.made[key]; {
		case run.T.Elapsed()-m.at > madeFor:
			delete(c.made, key)
		case oldest == "" || m.at < c.made[oldest].at:
			oldest = key
		}
	}
	if len(c.made) >= mostMade {
		delete(c.made, oldest)
	}
	c.made[informer.KeyOf(claim)] = made{claim, run.T.Elapsed()}
}

// claimOf is the claim that is made of a template for a pod.
func claimOf(pod *corev1.Pod, wants *corev1.PodResourceClaim, template *resourcev1.ResourceClaimTemplate) *resourcev1.ResourceClaim {
	annotations := maps.Clone(template.Spec.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[resourcev1.PodResourceClaimAnnotation] = wants.Name
	base := pod.Name + "-" + wants.Name + "-"
	const most = 57 // of 63 characters, which leaves a hyphen and five random ones
	if n := len(base); n > most {
		base = pod.Name[:len(pod.Name)*most/n] + "-" + wants.Name[:len(wants.Name)*most/n]
	}
	return &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: base, Namespace: pod.Namespace, Annotations: annotations, Labels: maps.Clone(template.Spec.Labels),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: ptr.To(true)}},
		},
		Spec: *template.Spec.Spec.DeepCopy(),
	}
}

// find is a claim: in the cache, among those just made, else at the API server; nil where
// there is none (claimExists).
func (c *Controller) find(run *reconcile.Run, namespace, name string) (*resourcev1.ResourceClaim, error) {
	key := informer.Key(namespace, name)
	if obj, ok := c.claims.Get(key); ok {
		delete(c.made, key) // seen
		return obj.(*resourcev1.ResourceClaim), nil
	}
	if m, ok := c.made[key]; ok && run.T.Elapsed()-m.at <= madeFor {
		return m.claim, nil
	}
	claim, err := client.Get[*resourcev1.ResourceClaim](run.T, c.Client, client.ResourceClaims, namespace, name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return claim, err
}

// orphan is a claim that was made for the pod, which its status does not name yet
// (findPodResourceClaim).
func (c *Controller) orphan(run *reconcile.Run, pod *corev1.Pod, name string) *resourcev1.ResourceClaim {
	owned := func(claim *resourcev1.ResourceClaim) bool {
		_, owner := ownerOf(claim)
		return claim.Namespace == pod.Namespace && owner == pod.UID
	}
	is := func(claim *resourcev1.ResourceClaim) bool {
		of, generated := claim.Annotations[resourcev1.PodResourceClaimAnnotation]
		return owned(claim) && generated && of == name
	}
	all := c.claims.ListNamespace(pod.Namespace)
	run.Look(len(all))
	var found *resourcev1.ResourceClaim
	for _, obj := range all {
		claim := obj.(*resourcev1.ResourceClaim)
		if owned(claim) {
			delete(c.made, informer.KeyOf(claim))
		}
		if found == nil && is(claim) {
			found = claim
		}
	}
	if found != nil {
		return found
	}
	for _, key := range slices.Sorted(maps.Keys(c.made)) {
		if m := c.made[key]; is(m.claim) && run.T.Elapsed()-m.at <= madeFor {
			return m.claim
		}
	}
	return nil
}

// reserve reserves the pod's claims for it.
func (c *Controller) reserve(run *reconcile.Run, pod *corev1.Pod) error {
	for i := range pod.Spec.ResourceClaims {
		name, own, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[i])
		if err != nil {
			return err
		}
		if name == nil {
			continue
		}
		obj, ok := c.claims.Get(informer.Key(pod.Namespace, *name))
		if !ok {
			return nil
		}
		claim := obj.(*resourcev1.ResourceClaim)
		if own {
			if err := resourceclaim.IsForPod(pod, claim, false); err != nil {
				return err
			}
		}
		if !toReserve(pod, claim) {
			continue
		}
		run.Act("update", client.RefOf(claim), nil, nil, "pod %s is on %s, and its claim %s has devices and is not reserved for it: reserve it, %d of %d places are taken",
			pod.Name, pod.Spec.NodeName, claim.Name, len(claim.Status.ReservedFor), resourcev1.ResourceClaimReservedForMaxSize)
		claim = claim.DeepCopy()
		claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: pod.Name, UID: pod.UID})
		if _, err := client.UpdateStatus(run.T, c.Client, client.ResourceClaims, claim.Namespace, claim); err != nil {
			return fmt.Errorf("reserve claim %s/%s: %w", claim.Namespace, claim.Name, err)
		}
	}
	return nil
}
