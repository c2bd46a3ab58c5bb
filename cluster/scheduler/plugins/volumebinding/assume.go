package volumebinding

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"

	"kviz/cluster/scheduler/framework"
	"kviz/cluster/sim"
)

// assumed is objects as they will be once what was decided of them is written. An assumption
// holds until another version of the object is seen.
//
// Mirrors passive_assume_cache.go.
type assumed[T metav1.Object] struct {
	stored func(key string) (T, error)
	byKey  map[string]T
}

func newAssumed[T metav1.Object](stored func(string) (T, error)) assumed[T] {
	return assumed[T]{stored, map[string]T{}}
}

func keyOf(o metav1.Object) string {
	if o.GetNamespace() == "" {
		return o.GetName()
	}
	return o.GetNamespace() + "/" + o.GetName()
}

func split(key string) (namespace, name string) {
	namespace, name, _ = strings.Cut(key, "/")
	return namespace, name
}

// get is the object, as assumed if it is.
func (a *assumed[T]) get(key string) (T, error) {
	o, err := a.stored(key)
	if err != nil {
		return o, err
	}
	return a.instead(o), nil
}

// instead is what is assumed of an object, or the object.
func (a *assumed[T]) instead(o T) T {
	if is, ok := a.byKey[keyOf(o)]; ok && is.GetResourceVersion() == o.GetResourceVersion() {
		return is
	}
	return o
}

func (a *assumed[T]) replace(list []T) []T {
	for i := range list {
		list[i] = a.instead(list[i])
	}
	return list
}

// assume has an object be what is decided of it.
func (a *assumed[T]) assume(o T) error {
	key := keyOf(o)
	stored, err := a.stored(key)
	if err != nil {
		return err
	}
	if stored.GetResourceVersion() != o.GetResourceVersion() {
		return fmt.Errorf("%q is out of sync (stored: %s, assume: %s)", key, stored.GetResourceVersion(), o.GetResourceVersion())
	}
	a.forgetOutdated()
	a.byKey[key] = o
	return nil
}

// forgetOutdated lets go of assumptions that hold no more.
func (a *assumed[T]) forgetOutdated() {
	for key, is := range a.byKey {
		if o, err := a.stored(key); err != nil || o.GetResourceVersion() != is.GetResourceVersion() {
			delete(a.byKey, key)
		}
	}
}

// restore takes back an assumption.
func (a *assumed[T]) restore(o T) {
	if is, ok := a.byKey[keyOf(o)]; ok && is.GetResourceVersion() == o.GetResourceVersion() {
		delete(a.byKey, keyOf(o))
	}
}

// Reserve assumes the choice that was made for the node, so that the next pod does not get the
// same volumes.
//
// Mirrors binder.go AssumePodVolumes.
func (pl *VolumeBinding) Reserve(cs *framework.CycleState, pod *corev1.Pod, nodeName string) *framework.Status {
	s := framework.Read[*state](cs, Name)
	if s == nil {
		return nil // no claims
	}
	c := s.nodes[nodeName]
	if c == nil || pl.bound(pod) {
		s.allBound = true
		return nil
	}
	assumed := &choice{}
	if err := pl.assume(assumed, c, nodeName); err != nil {
		pl.revert(assumed)
		return framework.AsStatus(Name, err)
	}
	s.nodes[nodeName] = assumed
	return nil
}

// bound reports whether all claims of the pod are.
func (pl *VolumeBinding) bound(pod *corev1.Pod) bool {
	for i := range pod.Spec.Volumes {
		if name := claimOf(pod, &pod.Spec.Volumes[i]); name != "" {
			if claim, err := pl.claims.get(pod.Namespace + "/" + name); err != nil || !fullyBound(claim) {
				return false
			}
		}
	}
	return true
}

func (pl *VolumeBinding) assume(to, c *choice, nodeName string) error {
	for _, b := range c.bindings {
		v, dirty, err := volume.GetBindVolumeToClaim(b.volume, b.claim)
		if err != nil {
			return err
		}
		if dirty {
			if err := pl.volumes.assume(v); err != nil {
				return err
			}
		}
		to.bindings = append(to.bindings, binding{b.claim, v})
	}
	for _, p := range c.provisions {
		claim := p.claim.DeepCopy()
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, volume.AnnSelectedNode, nodeName)
		if err := pl.claims.assume(claim); err != nil {
			return err
		}
		to.provisions = append(to.provisions, provision{claim: claim})
	}
	return nil
}

// Unreserve takes back the choice.
func (pl *VolumeBinding) Unreserve(_ *sim.Task, cs *framework.CycleState, _ *corev1.Pod, nodeName string) {
	if s := framework.Read[*state](cs, Name); s != nil && s.nodes[nodeName] != nil {
		pl.revert(s.nodes[nodeName])
	}
}

func (pl *VolumeBinding) revert(c *choice) {
	for _, b := range c.bindings {
		pl.volumes.restore(b.volume)
	}
	for _, p := range c.provisions {
		pl.claims.restore(p.claim)
	}
}
