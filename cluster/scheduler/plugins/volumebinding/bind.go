package volumebinding

import (
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"

	"kviz/cluster/client"
	"kviz/cluster/scheduler/framework"
	"kviz/cluster/sim"
)

// pollPeriod is how often a binding looks at its claims.
const pollPeriod = time.Second

// PreBind writes the choice, and waits until all claims are bound.
//
// Mirrors binder.go BindPodVolumes.
func (pl *VolumeBinding) PreBind(t *sim.Task, cs *framework.CycleState, pod *corev1.Pod, nodeName string) *framework.Status {
	s := framework.Read[*state](cs, Name)
	if s == nil || s.allBound {
		return nil
	}
	c := s.nodes[nodeName]
	if c == nil {
		return framework.AsStatus(Name, fmt.Errorf("no pod volume found for node %q", nodeName))
	}
	if err := pl.write(t, c); err != nil {
		return framework.AsStatus(Name, err)
	}
	for end := t.Now().Add(pl.timeout); ; {
		if !t.Now().Before(end) {
			return framework.AsStatus(Name, fmt.Errorf("binding volumes: %w", context.DeadlineExceeded))
		}
		t.Sleep(pollPeriod)
		done, err := pl.check(pod, c)
		if err == nil && !done && !t.Now().Before(end) {
			err = context.DeadlineExceeded
		}
		if err != nil {
			return framework.AsStatus(Name, fmt.Errorf("binding volumes: %w", err))
		}
		if done {
			return nil
		}
	}
}

// write has volumes belong to their claims, and notes on the others' claims where their volumes
// are to be made. What fails is assumed no more; what was written stays.
//
// Mirrors binder.go bindAPIUpdate.
func (pl *VolumeBinding) write(t *sim.Task, c *choice) (err error) {
	bindings, provisions := 0, 0
	defer func() {
		pl.revert(&choice{c.bindings[bindings:], c.provisions[provisions:]})
	}()
	for i := range c.bindings {
		v, err := client.Update(t, pl.Client, client.PersistentVolumes, "", c.bindings[i].volume)
		if err != nil {
			return err
		}
		c.bindings[i].volume = v
		bindings++
	}
	for i := range c.provisions {
		claim := c.provisions[i].claim
		if claim, err = client.Update(t, pl.Client, client.PersistentVolumeClaims, claim.Namespace, claim); err != nil {
			return err
		}
		c.provisions[i].claim = claim
		provisions++
	}
	return nil
}

// check reports whether all claims are bound; an error ends the binding.
//
// Mirrors binder.go checkBindings.
func (pl *VolumeBinding) check(pod *corev1.Pod, c *choice) (bool, error) {
	node := pl.Cluster.NodeOf(pod.Spec.NodeName)
	if node == nil {
		return false, fmt.Errorf("failed to get node %q: %w", pod.Spec.NodeName, apierrors.NewNotFound(corev1.Resource("node"), pod.Spec.NodeName))
	}
	csiNode := pl.Storage.CSINode(node.Name)
	if pl.Cluster.PodOf(pod.Namespace, pod.Name) == nil {
		return false, fmt.Errorf("pod does not exist any more: %w", apierrors.NewNotFound(corev1.Resource("pod"), pod.Name))
	}
	for _, b := range c.bindings {
		if done, err := pl.checkBinding(b, node, csiNode); !done {
			return false, err
		}
	}
	for _, p := range c.provisions {
		if done, err := pl.checkProvision(p, node, csiNode); !done {
			return false, err
		}
	}
	return true, nil
}

func (pl *VolumeBinding) checkBinding(b binding, node *corev1.Node, csiNode *storagev1.CSINode) (bool, error) {
	v, err := pl.Storage.Volume(b.volume.Name)
	if err != nil {
		return false, fmt.Errorf("failed to check binding: %w", err)
	}
	claim, err := pl.Storage.Claim(b.claim.Namespace, b.claim.Name)
	if err != nil {
		return false, fmt.Errorf("failed to check binding: %w", err)
	}
	if older(v, b.volume) {
		return false, nil // the write has not come back yet
	}
	if v, err = translated(v, csiNode); err != nil {
		return false, fmt.Errorf("failed to translate pv to csi: %w", err)
	}
	if !pl.affinities.reaches(v, node.Labels) {
		return false, fmt.Errorf("pv %q node affinity doesn't match node %q: "+affinityFailed, v.Name, node.Name)
	}
	if v.Spec.ClaimRef == nil || v.Spec.ClaimRef.UID == "" {
		return false, fmt.Errorf("ClaimRef got reset for pv %q", v.Name)
	}
	return fullyBound(claim), nil
}

func (pl *VolumeBinding) checkProvision(p provision, node *corev1.Node, csiNode *storagev1.CSINode) (bool, error) {
	claim, err := pl.Storage.Claim(p.claim.Namespace, p.claim.Name)
	if err != nil {
		return false, fmt.Errorf("failed to check provisioning pvc: %w", err)
	}
	if older(claim, p.claim) {
		return false, nil
	}
	if claim.Annotations == nil {
		return false, fmt.Errorf("selectedNode annotation reset for PVC %q", claim.Name)
	}
	if claim.Annotations[volume.AnnSelectedNode] != node.Name {
		return false, fmt.Errorf("provisioning failed for PVC %q", claim.Name)
	}
	if name := claim.Spec.VolumeName; name != "" {
		v, err := pl.Storage.Volume(name)
		if apierrors.IsNotFound(err) {
			return false, nil // seen later than the claim, perhaps
		}
		if err != nil {
			return false, fmt.Errorf("failed to get pv %q from cache: %w", name, err)
		}
		if v, err = translated(v, csiNode); err != nil {
			return false, err
		}
		if !pl.affinities.reaches(v, node.Labels) {
			return false, fmt.Errorf("pv %q node affinity doesn't match node %q: "+affinityFailed, v.Name, node.Name)
		}
	}
	return fullyBound(claim), nil
}

// older reports whether an object was written before another version of it.
func older(seen, written metav1.Object) bool {
	a, errA := strconv.ParseUint(seen.GetResourceVersion(), 10, 64)
	b, errB := strconv.ParseUint(written.GetResourceVersion(), 10, 64)
	return errA == nil && errB == nil && a < b
}
