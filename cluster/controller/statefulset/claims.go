package statefulset

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
)

// claimName is the name of the claim that a pod has of a template: data-web-7. It says
// nothing of the pod's life, so that the next web-7 finds it again.
func claimName(set *appsv1.StatefulSet, template *corev1.PersistentVolumeClaim, n int) string {
	return fmt.Sprintf("%s-%s-%d", template.Name, set.Name, n)
}

// claimsOf are the claims of a pod as they would be made (getPersistentVolumeClaims).
func claimsOf(set *appsv1.StatefulSet, pod *corev1.Pod) []*corev1.PersistentVolumeClaim {
	var out []*corev1.PersistentVolumeClaim
	for i := range set.Spec.VolumeClaimTemplates {
		claim := set.Spec.VolumeClaimTemplates[i].DeepCopy()
		claim.Name, claim.Namespace = claimName(set, claim, ordinal(pod)), set.Namespace
		if claim.Labels == nil {
			claim.Labels = map[string]string{}
		}
		maps.Copy(claim.Labels, set.Spec.Selector.MatchLabels)
		out = append(out, claim)
	}
	return out
}

// mountClaims gives a pod the volumes of its claims, in the place of others of these names
// (updateStorage).
func mountClaims(set *appsv1.StatefulSet, pod *corev1.Pod) {
	var volumes []corev1.Volume
	templates := set.Spec.VolumeClaimTemplates
	for i := range templates {
		volumes = append(volumes, corev1.Volume{Name: templates[i].Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claimName(set, &templates[i], ordinal(pod))},
		}})
	}
	for _, v := range pod.Spec.Volumes {
		if !slices.ContainsFunc(templates, func(c corev1.PersistentVolumeClaim) bool { return c.Name == v.Name }) {
			volumes = append(volumes, v)
		}
	}
	pod.Spec.Volumes = volumes
}

// mounted reports whether a pod has its claims (storageMatches).
func mounted(set *appsv1.StatefulSet, pod *corev1.Pod) bool {
	n := ordinal(pod)
	return n >= 0 && !slices.ContainsFunc(set.Spec.VolumeClaimTemplates, func(t corev1.PersistentVolumeClaim) bool {
		return !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
			return v.Name == t.Name && v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claimName(set, &t, n)
		})
	})
}

// claim reads a claim in the cache.
func (c *Controller) claim(namespace, name string) (*corev1.PersistentVolumeClaim, bool) {
	obj, ok := c.claims.Get(informer.Key(namespace, name))
	if !ok {
		return nil, false
	}
	return obj.(*corev1.PersistentVolumeClaim), true
}

// makeClaims makes those of a pod's claims that there are not (createPersistentVolumeClaims). Which
// volume they get is not its concern.
func (c *Controller) makeClaims(run *reconcile.Run, set *appsv1.StatefulSet, pod *corev1.Pod) error {
	var errs []error
	for _, claim := range claimsOf(set, pod) {
		have, ok := c.claim(claim.Namespace, claim.Name)
		switch {
		case ok && have.DeletionTimestamp != nil:
			errs = append(errs, fmt.Errorf("pvc %s is being deleted", claim.Name))
		case !ok:
			run.Act("create", client.PersistentVolumeClaims.Ref(claim.Namespace, claim.Name), claim.Name, "none",
				"%s has a claim of its own for each volumeClaimTemplate: %s does not exist, create it", pod.Name, claim.Name)
			made, err := client.Create(run.T, c.Client, client.PersistentVolumeClaims, claim.Namespace, claim)
			if err == nil {
				c.written.At(run.Key, c.claims, made)
				c.Events.Event(run.T, set, corev1.EventTypeNormal, "SuccessfulCreate", "Create Claim %s Pod %s in StatefulSet %s success", claim.Name, pod.Name, set.Name)
				continue
			}
			errs = append(errs, fmt.Errorf("failed to create PVC %s: %w", claim.Name, err))
			if !apierrors.IsAlreadyExists(err) {
				c.Events.Event(run.T, set, corev1.EventTypeWarning, "FailedCreate", "Create Claim %s for Pod %s in StatefulSet %s failed error: %v", claim.Name, pod.Name, set.Name, err)
			}
		}
	}
	return utilerrors.NewAggregate(errs)
}
