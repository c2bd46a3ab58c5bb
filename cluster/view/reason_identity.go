package view

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const clusterDomain = "cluster.local"

// podIdentity says what a pod of a StatefulSet keeps when it is made again, and what it does
// not.
func (s *State) podIdentity(o *Object) *Reason {
	pod, ok := o.Value.(*corev1.Pod)
	if !ok {
		return nil
	}
	l := s.setOf(o)
	if l == nil {
		return nil
	}
	n := ordinalOf(pod.Name)
	a := &Reason{Says: fmt.Sprintf("%s is number %d of %s: when it is deleted and made again, it keeps the name %s", o.Ref, n, l.o.Ref, pod.Name)}
	keeps := []string{}
	if claims := l.claimsOf(pod); len(claims) > 0 {
		keeps = append(keeps, "its "+plain(len(claims), "claim")+" "+joined(claims))
	}
	dns, why := s.dnsOf(pod)
	if dns != "" {
		keeps = append(keeps, "its DNS name "+dns)
	}
	if len(keeps) > 0 {
		a.Says += ", " + strings.Join(keeps, ", ")
	}
	a.Says += "; its UID and IP are new, and its node may be another"
	if n < l.first || n >= l.end {
		a.Says = fmt.Sprintf("%s is number %d of %s, which wants %s: it will be deleted, and not made again", o.Ref, n, l.o.Ref, orElse(l.wants(), "none"))
	}
	a.From = append(a.From, Keeper{What: "spec.hostname", Why: pod.Spec.Hostname + ", which its controller set to its name", Good: true, Ref: o.Ref, Event: o.Created})
	if svc := s.Object("services", o.Namespace(), pod.Spec.Subdomain); svc != nil {
		a.From = append(a.From, Keeper{What: "Service " + svc.Name(), Why: orElse(why, "answers for the names of its pods"), Good: why == "", Ref: svc.Ref, Event: svc.Changed})
	} else if pod.Spec.Subdomain != "" {
		a.From = append(a.From, Keeper{What: "Service " + pod.Spec.Subdomain, Why: why})
	}
	for _, name := range l.claimsOf(pod) {
		if c := s.Object("persistentvolumeclaims", o.Namespace(), name); c != nil {
			a.From = append(a.From, Keeper{What: "claim " + name, Why: s.claimTold(c), Good: true, Ref: c.Ref, Event: c.Changed})
		}
	}
	return a
}

func plain(n int, what string) string {
	if n == 1 {
		return what
	}
	return what + "s"
}

// wants are the ordinals that a set wants.
func (l *setLook) wants() string {
	switch l.end - l.first {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("number %d only", l.first)
	}
	return fmt.Sprintf("numbers %d to %d", l.first, l.end-1)
}

// setOf is the StatefulSet of a pod; nil if it has none.
func (s *State) setOf(o *Object) *setLook {
	owner := s.Owner(o)
	if owner == nil {
		return nil
	}
	return s.lookAtSet(owner)
}

// claimsOf are the names of the claims that a pod of the set has by its ordinal.
func (l *setLook) claimsOf(pod *corev1.Pod) (all []string) {
	for _, t := range l.set.Spec.VolumeClaimTemplates {
		all = append(all, t.Name+"-"+pod.Name)
	}
	return all
}

// dnsOf is the name by which DNS knows a pod of its own; "" where there is none, and why.
func (s *State) dnsOf(pod *corev1.Pod) (name, why string) {
	if pod.Spec.Subdomain == "" {
		return "", "the StatefulSet has no spec.serviceName, so its pods have no DNS names"
	}
	svc := s.Object("services", pod.Namespace, pod.Spec.Subdomain)
	if svc == nil {
		return "", "does not exist, so the pod has no DNS name of its own"
	}
	v, ok := svc.Value.(*corev1.Service)
	if !ok {
		return "", ""
	}
	name = fmt.Sprintf("%s.%s.%s.svc.%s", pod.Spec.Hostname, v.Name, v.Namespace, clusterDomain)
	if !podReady(pod) && !v.Spec.PublishNotReadyAddresses {
		return name, "answers for the names of its pods, of this one only when it is ready"
	}
	return name, ""
}

// claimTold says what of a claim there is to see.
func (s *State) claimTold(o *Object) string {
	c, ok := o.Value.(*corev1.PersistentVolumeClaim)
	if !ok {
		return ""
	}
	says := string(c.Status.Phase)
	if c.Spec.VolumeName != "" {
		says += ", volume " + c.Spec.VolumeName
	}
	if len(c.OwnerReferences) == 0 {
		return says + ", has no owner, so it is kept whatever is deleted"
	}
	var owners []string
	for _, r := range c.OwnerReferences {
		owners = append(owners, r.Kind+" "+r.Name)
	}
	return says + ", goes with its owner " + joined(owners)
}

// claimOfSet says to which pod of a StatefulSet a claim belongs, and when it goes.
func (s *State) claimOfSet(o *Object) *Reason {
	claim, ok := o.Value.(*corev1.PersistentVolumeClaim)
	if !ok || o.Deleting() {
		return nil
	}
	l, template := s.setOfClaim(claim)
	if l == nil {
		return nil
	}
	if l.o.Deleted {
		a := sentence("%s was the claim %q of pod %s of %s, which is deleted: persistentVolumeClaimRetentionPolicy.whenDeleted was Retain, so the claim stays; a new StatefulSet of that name gets it again",
			o.Ref, template, l.name(ordinalOf(claim.Name)), l.o.Ref)
		a.From = append(a.From, Keeper{What: "StatefulSet " + l.set.Name, Why: "was deleted", Good: true, Ref: l.o.Ref, Event: l.o.Changed})
		return a
	}
	n := ordinalOf(claim.Name)
	policy := appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: appsv1.RetainPersistentVolumeClaimRetentionPolicyType, WhenScaled: appsv1.RetainPersistentVolumeClaimRetentionPolicyType}
	if p := l.set.Spec.PersistentVolumeClaimRetentionPolicy; p != nil {
		policy = *p
	}
	is := fmt.Sprintf("%s is the claim %q of pod %s of %s", o.Ref, template, l.name(n), l.o.Ref)
	a := &Reason{}
	field := "persistentVolumeClaimRetentionPolicy"
	owned := func(kind string) bool {
		return slices.ContainsFunc(claim.OwnerReferences, func(r metav1.OwnerReference) bool { return r.Kind == kind })
	}
	switch gone := n < l.first || n >= l.end; {
	case gone && owned("Pod"):
		a.Says = fmt.Sprintf("%s, which is beyond spec.replicas %d: %s.whenScaled is %s, so the claim belongs to that pod and is deleted with it", is, l.end-l.first, field, policy.WhenScaled)
	case gone && policy.WhenScaled == appsv1.DeletePersistentVolumeClaimRetentionPolicyType:
		a.Says = fmt.Sprintf("%s, which is beyond spec.replicas %d: %s.whenScaled is Delete, but the pod was gone before the claim could belong to it, so it stays", is, l.end-l.first, field)
	case gone:
		a.Says = fmt.Sprintf("%s, which is beyond spec.replicas %d: %s.whenScaled is Retain, so the claim stays, and %s gets it again when the set is scaled up", is, l.end-l.first, field, l.name(n))
	case l.pods[n] == nil:
		a.Says = fmt.Sprintf("%s, which does not exist now: the claim is made before the pod and stays when the pod goes, so that the next %s finds its data again", is, l.name(n))
	default:
		a.Says = fmt.Sprintf("%s: it was made before the pod, and stays when the pod is deleted, so that the next %s finds its data again", is, l.name(n))
	}
	with := "is Retain: the claim stays when the StatefulSet is deleted"
	if policy.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType {
		with = "is Delete: the claim belongs to the StatefulSet and is deleted with it"
	}
	a.From = append(a.From, Keeper{What: field + ".whenDeleted", Why: with, Good: true, Ref: l.o.Ref, Event: l.o.Changed})
	if p := l.pods[n]; p != nil {
		a.From = append(a.From, l.s.podLine(p, l.pod(n), ""))
	}
	return a
}

// setOfClaim is the StatefulSet one of whose templates a claim's name is of, and which one; one
// that was deleted lately where there is none, else nil.
func (s *State) setOfClaim(claim *corev1.PersistentVolumeClaim) (found *setLook, template string) {
	if ordinalOf(claim.Name) < 0 {
		return nil, ""
	}
	base := claim.Name[:strings.LastIndexByte(claim.Name, '-')]
	look := func(o *Object) bool {
		set, ok := o.Value.(*appsv1.StatefulSet)
		if !ok || set.Namespace != claim.Namespace {
			return true
		}
		for _, t := range set.Spec.VolumeClaimTemplates {
			if base == t.Name+"-"+set.Name {
				found, template = s.lookAtSet(o), t.Name
				return false
			}
		}
		return true
	}
	s.EachObject("statefulsets", claim.Namespace, look)
	for _, gone := range slices.Backward(s.Deleted()) {
		if found == nil {
			look(gone)
		}
	}
	return found, template
}
