package statefulset

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/client"
	"kviz/cluster/controller/ownerref"
	"kviz/cluster/controller/reconcile"
)

// This controller deletes no claim. It says whose a claim is, and the garbage collector
// deletes what has no owner left:
//
//	whenScaled  whenDeleted  owner, while the pod is wanted  once it is condemned
//	Retain      Retain       none                            none
//	Retain      Delete       the set                         the set
//	Delete      Retain       none                            the pod
//	Delete      Delete       the set                         the pod
//
// So a claim goes with its set, or with a pod that is scaled away; never with one that is
// only replaced.

// owners says which of the two are to own a claim.
func owners(set *appsv1.StatefulSet, pod *corev1.Pod) (bySet, byPod bool) {
	const del = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	policy := retention(set)
	condemned := !inRange(set, pod)
	byPod = policy.WhenScaled == del && condemned
	return policy.WhenDeleted == del && !byPod, byPod
}

func retention(set *appsv1.StatefulSet) appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy {
	if p := set.Spec.PersistentVolumeClaimRetentionPolicy; p != nil {
		return *p
	}
	const retain = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	return appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: retain, WhenScaled: retain}
}

// named reports whether a reference has the kind and the name of an object, whichever
// object of that name it was (matchesRef).
func named(ref *metav1.OwnerReference, obj metav1.Object, gvk schema.GroupVersionKind) bool {
	return ref.APIVersion == gvk.GroupVersion().String() && ref.Kind == gvk.Kind && ref.Name == obj.GetName()
}

func owns(claim *corev1.PersistentVolumeClaim, owner metav1.Object) bool {
	return slices.ContainsFunc(claim.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == owner.GetUID() })
}

// stale reports whether a claim belongs to an earlier object of that name, which the garbage
// collector has yet to find gone (hasStaleOwnerRef).
func stale(claim *corev1.PersistentVolumeClaim, obj metav1.Object, gvk schema.GroupVersionKind) bool {
	i := slices.IndexFunc(claim.OwnerReferences, func(r metav1.OwnerReference) bool { return named(&r, obj, gvk) })
	return i >= 0 && claim.OwnerReferences[i].UID != obj.GetUID()
}

var setKind, podKind = client.StatefulSets.GVK(), client.Pods.GVK()

// contested reports whether somebody else controls a claim that the policy would have
// deleted (hasUnexpectedController).
func contested(claim *corev1.PersistentVolumeClaim, set *appsv1.StatefulSet, pod *corev1.Pod) bool {
	const retain = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	if p := retention(set); p.WhenScaled == retain && p.WhenDeleted == retain {
		return false
	}
	return slices.ContainsFunc(claim.OwnerReferences, func(r metav1.OwnerReference) bool {
		switch {
		case named(&r, set, setKind):
			return r.UID != set.UID
		case named(&r, pod, podKind):
			return r.UID != pod.UID
		}
		return r.Controller != nil && *r.Controller
	})
}

// settled reports whether nothing is to be done about a claim's owners (isClaimOwnerUpToDate).
func settled(claim *corev1.PersistentVolumeClaim, set *appsv1.StatefulSet, pod *corev1.Pod) bool {
	switch {
	case stale(claim, set, setKind) || stale(claim, pod, podKind):
		return true // an earlier one's, and going with it
	case contested(claim, set, pod):
		return !owns(claim, set) && !owns(claim, pod)
	case slices.ContainsFunc(claim.OwnerReferences, func(r metav1.OwnerReference) bool {
		return (r.UID == set.UID || r.UID == pod.UID) && (r.Controller == nil || !*r.Controller)
	}):
		return false // an owner that is not the controller
	}
	bySet, byPod := owners(set, pod)
	return owns(claim, set) == bySet && owns(claim, pod) == byPod
}

// settle gives a claim the owners that it is to have (updateClaimOwnerRefForSetAndPod).
func settle(claim *corev1.PersistentVolumeClaim, set *appsv1.StatefulSet, pod *corev1.Pod) {
	left := contested(claim, set, pod)
	refs := slices.DeleteFunc(claim.OwnerReferences, func(r metav1.OwnerReference) bool {
		return named(&r, set, setKind) || named(&r, pod, podKind)
	})
	add := func(owner ownerref.Object, gvk schema.GroupVersionKind) {
		if !slices.ContainsFunc(refs, func(r metav1.OwnerReference) bool { return r.UID == owner.GetUID() }) {
			refs = append(refs, *metav1.NewControllerRef(owner, gvk))
		}
	}
	bySet, byPod := owners(set, pod)
	switch {
	case left:
	case bySet:
		add(set, setKind)
	case byPod:
		add(pod, podKind)
	}
	claim.OwnerReferences = refs
}

// claimsSettled reports whether nothing is to be done about the owners of a pod's claims
// (ClaimsMatchRetentionPolicy).
func (c *Controller) claimsSettled(set *appsv1.StatefulSet, pod *corev1.Pod) bool {
	for i := range set.Spec.VolumeClaimTemplates {
		claim, ok := c.claim(set.Namespace, claimName(set, &set.Spec.VolumeClaimTemplates[i], ordinal(pod)))
		if ok && !settled(claim, set, pod) {
			return false
		}
	}
	return true
}

// settleClaims gives the claims of a pod their owners (UpdatePodClaimForRetentionPolicy).
func (c *Controller) settleClaims(run *reconcile.Run, set *appsv1.StatefulSet, pod *corev1.Pod) error {
	for i := range set.Spec.VolumeClaimTemplates {
		name := claimName(set, &set.Spec.VolumeClaimTemplates[i], ordinal(pod))
		claim, ok := c.claim(set.Namespace, name)
		if !ok {
			continue
		}
		if contested(claim, set, pod) {
			c.Events.Event(run.T, set, corev1.EventTypeWarning, "ConflictingController",
				"PersistentVolumeClaim %s has a conflicting OwnerReference that acts as a manging controller, the retention policy is ignored for this claim", name)
		}
		if settled(claim, set, pod) {
			continue
		}
		run.Act("update", client.RefOf(claim), whose(set, pod), nil, "%s: claim %s is to go with %s", policyWords(set, pod), name, whose(set, pod))
		claim = claim.DeepCopy()
		settle(claim, set, pod)
		updated, err := client.Update(run.T, c.Client, client.PersistentVolumeClaims, claim.Namespace, claim)
		if err != nil {
			return fmt.Errorf("could not update claim %s for delete policy ownerRefs: %w", name, err)
		}
		c.written.At(run.Key, c.claims, updated)
	}
	return nil
}

// whose says with whom a claim goes.
func whose(set *appsv1.StatefulSet, pod *corev1.Pod) string {
	switch bySet, byPod := owners(set, pod); {
	case bySet:
		return "StatefulSet " + set.Name
	case byPod:
		return "pod " + pod.Name
	}
	return "nobody"
}

func policyWords(set *appsv1.StatefulSet, pod *corev1.Pod) string {
	p := retention(set)
	words := fmt.Sprintf("the claims' policy is whenDeleted %s, whenScaled %s", p.WhenDeleted, p.WhenScaled)
	if !inRange(set, pod) {
		words += fmt.Sprintf(", and %s is beyond the set's ordinals", pod.Name)
	}
	return words
}

// claimsStale reports whether a pod that is to be made has to wait for claims of the
// earlier one of its name, which are going (PodClaimIsStale).
func (c *Controller) claimsStale(set *appsv1.StatefulSet, pod *corev1.Pod) bool {
	if retention(set).WhenScaled == appsv1.RetainPersistentVolumeClaimRetentionPolicyType {
		return false
	}
	return slices.ContainsFunc(claimsOf(set, pod), func(wanted *corev1.PersistentVolumeClaim) bool {
		claim, ok := c.claim(wanted.Namespace, wanted.Name)
		return ok && stale(claim, pod, podKind)
	})
}
