// Package ephemeral is the ephemeral volume controller: it creates the claims of pods whose
// volumes are generic ephemeral ones, which live as long as the pod.
//
// The worked idea. Pod web has a volume scratch with ephemeral.volumeClaimTemplate. The
// controller creates the claim web-scratch from the template, with the pod as its owner: the
// scheduler waits for it, a volume is bound or made for it as for any claim, and when the
// pod goes the garbage collector deletes the claim. If there is a claim of that name that
// the pod does not own, the controller leaves it alone, and the pod waits: somebody else's
// data is not for a pod whose name happens to give that of the claim.
//
// A pod's spec does not change, so only new pods and deleted claims bring work.
//
// Mirrors pkg/controller/volume/ephemeral. Nothing is watched for it before there are claims or
// such pods. Start reading at [Controller.sync].
package ephemeral

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-helpers/storage/ephemeral"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// The controller's name, and where its Events come from.
const (
	Name   = "ephemeral-volume-controller"
	Source = "ephemeral_volume"
)

// byClaim is the index of pods by the claims of their ephemeral volumes.
const byClaim = "ephemeral claim"

// Controller is the ephemeral volume controller.
type Controller struct {
	*reconcile.Env
	pods   *informer.Informer
	claims *informer.Informer // nil before there is such a pod
	loop   *reconcile.Loop
	first  sim.Cond // signalled when there is one
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env) *Controller {
	c := &Controller{Env: env, pods: env.Informers.For(client.Pods)}
	c.loop = reconcile.NewLoop(env, "ephemeral_volume", client.Pods, c.sync)
	c.pods.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.see(t, obj.(*corev1.Pod)) },
	})
	return c
}

// Start begins to work at the first pod with such a volume.
func (c *Controller) Start() {
	c.Process.Go("await", func(t *sim.Task) {
		for c.loop.Len() == 0 {
			c.first.Wait(t)
		}
		c.claims = c.Informers.For(client.PersistentVolumeClaims)
		c.pods.AddIndex(byClaim, claimsOf)
		c.claims.AddHandler(informer.Handler{
			// Somebody deletes the claim of a pod that is there: it gets another.
			Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) {
				for _, pod := range c.pods.ByIndex(byClaim, informer.KeyOf(obj)) {
					c.see(t, pod.(*corev1.Pod))
				}
			},
		})
		c.loop.Start(c.pods, c.claims)
	})
}

// see has a pod looked at that has such a volume (enqueuePod).
func (c *Controller) see(t *sim.Task, pod *corev1.Pod) {
	if pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Ephemeral != nil }) {
		c.loop.Add(t, informer.KeyOf(pod))
		c.first.Signal()
	}
}

func claimsOf(obj runtime.Object) []string {
	pod := obj.(*corev1.Pod)
	var keys []string
	for i := range pod.Spec.Volumes {
		if v := &pod.Spec.Volumes[i]; v.Ephemeral != nil {
			keys = append(keys, informer.Key(pod.Namespace, ephemeral.VolumeClaimName(pod, v)))
		}
	}
	return keys
}

// sync creates the claims of a pod that are not there (syncHandler).
func (c *Controller) sync(run *reconcile.Run) error {
	obj, there := c.pods.Get(run.Key)
	if !there {
		return nil
	}
	pod := obj.(*corev1.Pod)
	if pod.DeletionTimestamp != nil {
		return nil
	}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.Ephemeral == nil {
			continue
		}
		if err := c.claim(run, pod, v); err != nil {
			c.Events.Event(run.T, pod, corev1.EventTypeWarning, "FailedBinding", "ephemeral volume %s: %v", v.Name, err)
			return fmt.Errorf("pod %s, ephemeral volume %s: %w", run.Key, v.Name, err)
		}
	}
	return nil
}

// claim creates the claim of one volume (handleVolume).
func (c *Controller) claim(run *reconcile.Run, pod *corev1.Pod, v *corev1.Volume) error {
	name := ephemeral.VolumeClaimName(pod, v)
	if obj, there := c.claims.Get(informer.Key(pod.Namespace, name)); there {
		return ephemeral.VolumeIsForPod(pod, obj.(*corev1.PersistentVolumeClaim))
	}
	template := v.Ephemeral.VolumeClaimTemplate.DeepCopy()
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Annotations: template.Annotations, Labels: template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(pod, client.Pods.GVK())},
		},
		Spec: template.Spec,
	}
	run.Act("create", client.PersistentVolumeClaims.Ref(pod.Namespace, name), nil, nil,
		"volume %s of the pod is an ephemeral one, and claim %s is not there: create it from the volume's template, owned by the pod", v.Name, name)
	if _, err := c.Client.Create(run.T, client.PersistentVolumeClaims, pod.Namespace, claim); err != nil {
		return fmt.Errorf("create PVC %s: %w", name, err)
	}
	return nil
}
