package persistentvolume

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
)

// Reasons of Events (pkg/controller/volume/events).
const (
	failedBinding        = "FailedBinding"
	volumeMismatch       = "VolumeMismatch"
	volumeFailedRecycle  = "VolumeFailedRecycle"
	volumeRecycled       = "VolumeRecycled"
	volumeFailedDelete   = "VolumeFailedDelete"
	externalProvisioning = "ExternalProvisioning"
	provisioningFailed   = "ProvisioningFailed"
	waitForFirstConsumer = "WaitForFirstConsumer"
	waitForPodScheduled  = "WaitForPodScheduled"
)

// syncClaim decides what to do with a claim.
func (c *Controller) syncClaim(run *reconcile.Run, claim *corev1.PersistentVolumeClaim) error {
	claim, err := c.migrateClaim(run, claim)
	if err != nil {
		return err
	}
	if !metav1.HasAnnotation(claim.ObjectMeta, volume.AnnBindCompleted) {
		return c.syncUnbound(run, claim)
	}
	return c.syncBound(run, claim)
}

// syncUnbound is for a claim whose binding is not complete (syncUnboundClaim).
func (c *Controller) syncUnbound(run *reconcile.Run, claim *corev1.PersistentVolumeClaim) error {
	if claim.Spec.VolumeName != "" {
		return c.syncAsked(run, claim)
	}
	delay, err := volume.IsDelayBindingMode(claim, c.lister())
	if err != nil {
		return err
	}
	run.Look(len(c.cache.byName))
	v, err := c.cache.best(claim, delay)
	switch {
	case err != nil:
		return fmt.Errorf("error finding PV for claim %q: %w", run.Key, err)
	case v != nil:
		return c.bind(run, v, claim, c.chosen(claim, v))
	}
	return c.withoutVolume(run, claim, delay)
}

// withoutVolume is for a claim that finds no volume: it gets the default class, waits for a pod,
// or has a volume made.
func (c *Controller) withoutVolume(run *reconcile.Run, claim *corev1.PersistentVolumeClaim, delay bool) error {
	assigned, err := c.assignDefaultClass(run, claim)
	if err != nil {
		return fmt.Errorf("can't update PersistentVolumeClaim[%q]: %w", run.Key, err)
	}
	if assigned {
		return nil // its update brings it back
	}
	switch class := volume.GetPersistentVolumeClaimClass(claim); {
	case delay && !volume.IsDelayBindingProvisioning(claim):
		reason, message := c.consumer(run.Key)
		c.Events.Event(run.T, claim, corev1.EventTypeNormal, reason, "%s", message)
		run.Waits("class %s binds a claim when its first pod is scheduled (WaitForFirstConsumer), and the scheduler chooses the volume: %s", class, message)
	case class != "":
		return c.provision(run, claim)
	default:
		c.Events.Event(run.T, claim, corev1.EventTypeNormal, failedBinding, "no persistent volumes available for this claim and no storage class is set")
		run.Waits("%s, and without a class nothing makes one", c.rejected(claim))
	}
	_, err = c.setClaimPhase(run, claim, corev1.ClaimPending)
	return err
}

// consumer says what a claim waits for that waits for its first pod
// (emitEventForUnboundDelayBindingClaim).
func (c *Controller) consumer(key string) (reason, message string) {
	names := c.podsOf(key, func(p *corev1.Pod) bool { return p.Spec.NodeName == "" }, (*corev1.Pod).GetName)
	switch len(names) {
	case 0:
		return waitForFirstConsumer, "waiting for first consumer to be created before binding"
	case 1:
		return waitForPodScheduled, fmt.Sprintf("waiting for pod %s to be scheduled", names[0])
	}
	return waitForPodScheduled, fmt.Sprintf("waiting for pods %s to be scheduled", strings.Join(names, ","))
}

// syncAsked is for an unbound claim that names its volume.
func (c *Controller) syncAsked(run *reconcile.Run, claim *corev1.PersistentVolumeClaim) error {
	v, there := c.cache.volume(claim.Spec.VolumeName)
	switch {
	case !there:
		run.Waits("the claim asks for volume %s, and there is no volume of that name", claim.Spec.VolumeName)
	case v.Spec.ClaimRef == nil:
		err := satisfies(v, claim)
		if err == nil {
			return c.bind(run, v, claim, fmt.Sprintf("the claim asks for volume %s by name, which is free and has what the claim needs", v.Name))
		}
		c.Events.Event(run.T, claim, corev1.EventTypeWarning, volumeMismatch, "Cannot bind to requested volume %q: %s", v.Name, err)
		run.Waits("the claim asks for volume %s by name, which will not do: %s", v.Name, err)
	case volume.IsVolumeBoundToClaim(v, claim):
		return c.bind(run, v, claim, fmt.Sprintf("the claim asks for volume %s by name, and the volume is for the claim", v.Name))
	default:
		c.Events.Event(run.T, claim, corev1.EventTypeWarning, failedBinding, "volume %q already bound to a different claim.", v.Name)
		if metav1.HasAnnotation(claim.ObjectMeta, volume.AnnBoundByController) {
			// Somebody has taken the annotation away that the binding is complete.
			return fmt.Errorf("invalid binding of claim %q to volume %q: volume already claimed by %q", run.Key, v.Name, claimKey(v))
		}
		run.Waits("the claim asks for volume %s by name, which belongs to claim %s", v.Name, claimKey(v))
	}
	_, err := c.setClaimPhase(run, claim, corev1.ClaimPending)
	return err
}

// satisfies says what of a volume is not as a claim that names it needs it
// (checkVolumeSatisfyClaim).
func satisfies(v *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) error {
	asked, has := claim.Spec.Resources.Requests[corev1.ResourceStorage], v.Spec.Capacity[corev1.ResourceStorage]
	switch {
	case v.DeletionTimestamp != nil:
		return fmt.Errorf("the volume is marked for deletion %q", v.Name)
	case has.Value() < asked.Value():
		return fmt.Errorf("requested PV is too small")
	case volume.GetPersistentVolumeClass(v) != volume.GetPersistentVolumeClaimClass(claim):
		return fmt.Errorf("storageClassName does not match")
	case attributes(v.Spec.VolumeAttributesClassName) != attributes(claim.Spec.VolumeAttributesClassName):
		return fmt.Errorf("volumeAttributesClassName does not match")
	case volume.CheckVolumeModeMismatches(&claim.Spec, &v.Spec):
		return fmt.Errorf("incompatible volumeMode")
	case !volume.CheckAccessModes(claim, v):
		return fmt.Errorf("incompatible accessMode")
	}
	return nil
}

func attributes(class *string) string {
	if class == nil {
		return ""
	}
	return *class
}

// syncBound is for a claim whose binding was complete once: it repairs what is missing, or finds
// that the volume is lost (syncBoundClaim).
func (c *Controller) syncBound(run *reconcile.Run, claim *corev1.PersistentVolumeClaim) error {
	if claim.Spec.VolumeName == "" {
		return c.lose(run, claim, "ClaimLost", "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!")
	}
	v, there := c.cache.volume(claim.Spec.VolumeName)
	switch {
	case !there:
		return c.lose(run, claim, "ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!")
	case v.Spec.ClaimRef == nil:
		return c.bind(run, v, claim, fmt.Sprintf("the claim is bound to volume %s, which is bound to no claim", v.Name))
	case v.Spec.ClaimRef.UID == claim.UID:
		return c.bind(run, v, claim, fmt.Sprintf("claim and volume %s belong together", v.Name))
	}
	return c.lose(run, claim, "ClaimMisbound", "Two claims are bound to the same volume, this one is bound incorrectly")
}

// lose has a claim be Lost, for good.
func (c *Controller) lose(run *reconcile.Run, claim *corev1.PersistentVolumeClaim, reason, message string) error {
	if claim.Status.Phase == corev1.ClaimLost {
		return nil
	}
	run.Act("update", client.RefOf(claim), corev1.ClaimLost, claim.Status.Phase, "%s: write the claim's phase Lost", message)
	now, err := c.setClaimPhase(run, claim, corev1.ClaimLost)
	if err == nil {
		c.Events.Event(run.T, now, corev1.EventTypeWarning, reason, "%s", message)
	}
	return err
}

// keyOf is a claim's key (claimToClaimKey).
func keyOf(claim *corev1.PersistentVolumeClaim) string {
	return informer.Key(claim.Namespace, claim.Name)
}
