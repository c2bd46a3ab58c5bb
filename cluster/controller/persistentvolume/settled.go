package persistentvolume

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"

	"kviz/cluster/informer"
	"kviz/cluster/sim"
)

// open is what is not settled: another look at it may do something though nothing has happened
// to it. A cluster in which all is settled has no resync.
type open struct {
	claims, volumes *keys
	some            *sim.Cond // signalled when there is some
}

type keys struct {
	set  map[string]bool
	some *sim.Cond
}

func newOpen() open {
	some := &sim.Cond{}
	return open{&keys{map[string]bool{}, some}, &keys{map[string]bool{}, some}, some}
}

func (k *keys) settle(key string) { delete(k.set, key) }

func (k *keys) note(key string, settled bool) {
	if settled {
		k.settle(key)
		return
	}
	k.set[key] = true
	k.some.Signal()
}

func (k *keys) sorted() []string { return slices.Sorted(maps.Keys(k.set)) }

// resync has what is not settled looked at every 15 s from the controller's start on.
func (c *Controller) resync(t *sim.Task) {
	began := t.Now()
	for {
		for len(c.open.claims.set)+len(c.open.volumes.set) == 0 {
			c.open.some.Wait(t)
		}
		ticks := t.Now().Sub(began)/resyncPeriod + 1
		t.SleepUntil(began.Add(ticks * resyncPeriod))
		t.SetCauses()
		for _, key := range c.open.claims.sorted() {
			c.claimLoop.Add(t, key)
		}
		for _, key := range c.open.volumes.sorted() {
			c.volumeLoop.Add(t, key)
		}
	}
}

func (c *Controller) noteClaim(key string) {
	claim := c.cache.claims[key]
	c.open.claims.note(key, claim == nil || c.settledClaim(claim))
}

func (c *Controller) noteVolume(name string) {
	v, there := c.cache.volume(name)
	c.open.volumes.note(name, !there || c.settledVolume(v))
}

// settledClaim reports whether another look at a claim would do nothing.
func (c *Controller) settledClaim(claim *corev1.PersistentVolumeClaim) bool {
	if !metav1.HasAnnotation(claim.ObjectMeta, volume.AnnBindCompleted) {
		return false
	}
	v, there := c.cache.volume(claim.Spec.VolumeName)
	switch {
	case claim.Spec.VolumeName == "" || !there:
		return claim.Status.Phase == corev1.ClaimLost
	case v.Spec.ClaimRef == nil:
		return false
	case v.Spec.ClaimRef.UID == claim.UID:
		return claim.Status.Phase == corev1.ClaimBound && v.Status.Phase == corev1.VolumeBound
	}
	return claim.Status.Phase == corev1.ClaimLost
}

// settledVolume reports whether another look at a volume would do nothing.
func (c *Controller) settledVolume(v *corev1.PersistentVolume) bool {
	ref := v.Spec.ClaimRef
	if ref == nil || ref.UID == "" {
		return v.Status.Phase == corev1.VolumeAvailable
	}
	claim := c.cache.claims[informer.Key(ref.Namespace, ref.Name)]
	switch {
	case claim == nil || claim.UID != ref.UID:
		done := v.Status.Phase == corev1.VolumeFailed || v.Status.Phase == corev1.VolumeReleased
		return done && (v.Status.Phase == corev1.VolumeFailed || v.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRecycle)
	case claim.Spec.VolumeName == "":
		return false
	case claim.Spec.VolumeName == v.Name:
		return v.Status.Phase == corev1.VolumeBound
	}
	return v.Status.Phase == corev1.VolumeFailed || v.Status.Phase == corev1.VolumeReleased
}
