package resourceclaim

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
)

// syncClaim takes from a claim the pods that are over, and from a claim that nobody has any
// more its devices; one that was made for a pod that is over it deletes (syncClaim).
func (c *Controller) syncClaim(run *reconcile.Run, key string) error {
	obj, ok := c.claims.Get(key)
	if !ok {
		return nil
	}
	claim := obj.(*resourcev1.ResourceClaim)
	stay, over, err := c.consumers(run, claim)
	if err != nil {
		return err
	}
	final := slices.Contains(claim.Finalizers, resourcev1.Finalizer)
	switch {
	case len(over) > 0:
		err = c.release(run, claim, stay, over, final)
	case final && claim.DeletionTimestamp != nil && len(stay) == 0:
		err = c.end(run, claim)
	}
	if err != nil || len(stay) > 0 {
		return err
	}
	return c.discard(run, claim)
}

// consumers divides those for whom a claim is reserved: who stays, and the names of the pods
// that need it no more.
func (c *Controller) consumers(run *reconcile.Run, claim *resourcev1.ResourceClaim) (stay []resourcev1.ResourceClaimConsumerReference, over []string, err error) {
	run.Look(len(claim.Status.ReservedFor))
	for _, by := range claim.Status.ReservedFor {
		keep := true
		if by.APIGroup == "" && by.Resource == "pods" {
			if keep, err = c.needs(run, claim.Namespace, by); err != nil {
				return nil, nil, err
			}
		}
		if keep {
			stay = append(stay, by)
		} else {
			over = append(over, by.Name)
		}
	}
	return stay, over, nil
}

// needs reports whether a pod still needs a claim. Of one that the cache does not have and
// that was not seen to go the API server knows: it may be too new.
func (c *Controller) needs(run *reconcile.Run, namespace string, by resourcev1.ResourceClaimConsumerReference) (bool, error) {
	if slices.Contains(c.gone, by.UID) {
		return false, nil
	}
	if obj, ok := c.pods.Get(informer.Key(namespace, by.Name)); ok {
		pod := obj.(*corev1.Pod)
		return pod.UID == by.UID && !isDone(pod), nil
	}
	pod, err := client.Get[*corev1.Pod](run.T, c.Client, client.Pods, namespace, by.Name)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil && pod.UID == by.UID, err
}

// release takes the pods that are over from a claim, and from one that nobody has any more
// its allocation and its finalizer.
func (c *Controller) release(run *reconcile.Run, claim *resourcev1.ResourceClaim, stay []resourcev1.ResourceClaimConsumerReference, over []string, final bool) error {
	next := claim.DeepCopy()
	next.Status.ReservedFor = stay
	why := fmt.Sprintf("of the %d pods that claim %s is reserved for, %s needs it no more: take %d from it", len(claim.Status.ReservedFor), claim.Name, strings.Join(over, " and "), len(over))
	if len(stay) == 0 && final {
		next.Status.Allocation = nil
		why += "; nobody is left, and so its devices are free for other claims"
	}
	run.Act("update", client.RefOf(claim), len(stay), len(claim.Status.ReservedFor), "%s", why)
	next, err := client.UpdateStatus(run.T, c.Client, client.ResourceClaims, claim.Namespace, next)
	if err != nil {
		return err
	}
	if next.Status.Allocation != nil || !slices.Contains(next.Finalizers, resourcev1.Finalizer) {
		return nil
	}
	return c.unprotect(run, next, "claim %s has no devices any more: take its finalizer away")
}

// end lets a claim go that is deleted and that nobody has.
func (c *Controller) end(run *reconcile.Run, claim *resourcev1.ResourceClaim) error {
	next := claim.DeepCopy()
	if next.Status.Allocation != nil {
		run.Act("update", client.RefOf(claim), nil, nil, "claim %s is to go, and is reserved for nobody: its devices are free for other claims", claim.Name)
		next.Status.Allocation = nil
		var err error
		if next, err = client.UpdateStatus(run.T, c.Client, client.ResourceClaims, claim.Namespace, next); err != nil {
			return err
		}
	}
	return c.unprotect(run, next, "claim %s is to go, and has no devices: take its finalizer away")
}

func (c *Controller) unprotect(run *reconcile.Run, claim *resourcev1.ResourceClaim, why string) error {
	run.Act("update", client.RefOf(claim), nil, resourcev1.Finalizer, why, claim.Name)
	claim.Finalizers = slices.DeleteFunc(claim.Finalizers, func(f string) bool { return f == resourcev1.Finalizer })
	_, err := client.Update(run.T, c.Client, client.ResourceClaims, claim.Namespace, claim)
	return err
}

// discard deletes a claim that was made for a pod which is over. Where the pod has gone the
// garbage collector does.
func (c *Controller) discard(run *reconcile.Run, claim *resourcev1.ResourceClaim) error {
	name, uid := ownerOf(claim)
	if name == "" {
		return nil
	}
	obj, ok := c.pods.Get(informer.Key(claim.Namespace, name))
	if !ok {
		return nil
	}
	pod := obj.(*corev1.Pod)
	why := ""
	switch {
	case pod.UID != uid:
		why = "another pod has its name now"
	case isDone(pod):
		why = "which will not run any more"
	default:
		return nil
	}
	run.Act("delete", client.RefOf(claim), nil, nil, "claim %s was made for pod %s, %s: delete it", claim.Name, name, why)
	if err := c.Client.Delete(run.T, client.ResourceClaims, claim.Namespace, claim.Name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete unused generated claim %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	return nil
}

// ownerOf is the pod for which a claim was made (owningPod).
func ownerOf(claim *resourcev1.ResourceClaim) (string, types.UID) {
	for _, o := range claim.OwnerReferences {
		if ptr.Deref(o.Controller, false) && o.APIVersion == "v1" && o.Kind == "Pod" {
			return o.Name, o.UID
		}
	}
	return "", ""
}
