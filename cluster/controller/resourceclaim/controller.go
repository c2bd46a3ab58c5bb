// Package resourceclaim is the resource claim controller: it makes the ResourceClaims that
// pods ask for by a ResourceClaimTemplate, and takes back what claims hold when the pods
// that use them are over.
//
// The worked idea. A pod train has resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpu}]:
//
//  1. the claim train-gpu-x7k2p is made of the template, with the pod as its owner, and the
//     pod's status says that its claim gpu is called so
//  2. the scheduler allocates a device for the claim, and reserves the claim for the pod:
//     status.reservedFor has it
//  3. the pod is Succeeded: it leaves reservedFor; nobody is left there, and so the
//     allocation goes too, and the finalizer that kept the claim while it had devices
//  4. the claim was made for this pod, which needs it no more: it is deleted
//
// A claim that a person made, for several pods, stays at step 3, without devices, until the
// next pod needs it.
//
// Mirrors pkg/controller/resourceclaim without its alpha parts (claims of PodGroups).
// Simplified: the status is patched where upstream applies it. Nothing is watched before the
// first claim, template, or pod that asks for one. Start reading at [Controller.Start], then
// pod.go and claim.go.
package resourceclaim

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/resourceclaim"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Simplified,
	What: "the resource claim controller patches a pod's status, where upstream's applies it, and watches nothing before the first claim, template, or pod that asks for one",
})

// The controller's name, where its Events come from, and its ServiceAccount.
const (
	Name    = "resourceclaim-controller"
	Source  = "resource_claim"
	Account = "resource-claim-controller"
)

// The beginnings of the queue's keys.
const (
	claimPrefix = "claim:"
	podPrefix   = "pod:"
)

// made is a claim that was made here. It counts as there for a time though the cache has it not
// (upstream's mutation cache), until it is found there once: the cache may not have it yet, and
// one that was deleted since, because its pod is over, is not made again.
type made struct {
	claim *resourcev1.ResourceClaim
	at    time.Duration
}

const (
	madeFor  = time.Hour
	mostMade = 1000 // claimMutationCacheSize
)

// mostGone is how many pods are remembered that have gone (maxUIDCacheEntries); of others the
// API server knows.
const mostGone = 500

// The indexes of pods: by the claims that they have, by the templates of which they want some.
const (
	byClaim    = "podResourceClaim"
	byTemplate = "podResourceClaimTemplate"
)

// Controller is the resource claim controller.
type Controller struct {
	*reconcile.Env
	pods, claims, templates *informer.Informer
	loop                    *reconcile.Loop
	begin                   sim.Cond
	wanted                  bool
	made                    map[string]made // made here within madeFor, by key
	gone                    []types.UID     // pods that were seen to go, the newest last
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env) *Controller {
	c := &Controller{Env: env, made: map[string]made{}}
	c.pods = env.Informers.For(client.Pods)
	c.pods.AddHandler(informer.Handler{
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.pod(t, obj.(*corev1.Pod), false) },
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { c.pod(t, obj.(*corev1.Pod), false) },
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.pod(t, obj.(*corev1.Pod), true) },
	})
	return c
}

// Start waits for the first claim, template, or pod that wants one, and then begins to work.
func (c *Controller) Start() {
	c.Process.Go("await", func(t *sim.Task) {
		client.AwaitUseOf(t, c.Client, client.ResourceClaims, client.ResourceClaimTemplates)
		c.want()
	})
	c.Process.Go("begin", func(t *sim.Task) {
		for !c.wanted {
			c.begin.Wait(t)
		}
		c.watch(t)
	})
}

func (c *Controller) want() {
	c.wanted = true
	c.begin.Broadcast()
}

func (c *Controller) watch(t *sim.Task) {
	c.claims, c.templates = c.Informers.For(client.ResourceClaims), c.Informers.For(client.ResourceClaimTemplates)
	c.pods.AddIndex(byClaim, func(obj runtime.Object) []string { return claimsOf(obj.(*corev1.Pod)) })
	c.pods.AddIndex(byTemplate, func(obj runtime.Object) []string { return templatesOf(obj.(*corev1.Pod)) })
	c.loop = reconcile.NewLoop(c.Env, "resource_claim", client.ResourceClaims, c.sync)
	c.loop.RefOf = refOf
	c.claims.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.claim(t, obj.(*resourcev1.ResourceClaim), false) },
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) {
			c.claim(t, obj.(*resourcev1.ResourceClaim), false)
		},
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.claim(t, obj.(*resourcev1.ResourceClaim), true) },
	})
	template := func(t *sim.Task, obj runtime.Object) {
		for _, pod := range c.pods.ByIndex(byTemplate, informer.KeyOf(obj)) {
			c.pod(t, pod.(*corev1.Pod), false)
		}
	}
	c.templates.AddHandler(informer.Handler{
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { template(t, obj) },
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { template(t, obj) },
	})
	c.loop.Start(c.pods, c.claims, c.templates)
	c.pods.WaitForSync(t)
	c.claims.WaitForSync(t)
	for _, obj := range c.pods.List() { // those that came before there was a queue
		c.pod(t, obj.(*corev1.Pod), false)
	}
}

// claimsOf are the keys of the claims that a pod has (podResourceClaimIndexFunc).
func claimsOf(pod *corev1.Pod) (keys []string) {
	for i := range pod.Spec.ResourceClaims {
		if name, _, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[i]); err == nil && name != nil {
			keys = append(keys, informer.Key(pod.Namespace, *name))
		}
	}
	return keys
}

func templatesOf(pod *corev1.Pod) (keys []string) {
	for _, wants := range pod.Spec.ResourceClaims {
		if wants.ResourceClaimTemplateName != nil {
			keys = append(keys, informer.Key(pod.Namespace, *wants.ResourceClaimTemplateName))
		}
	}
	return keys
}

// pod has the claims of a pod looked at that is over, and a pod that lacks something
// (enqueuePod).
func (c *Controller) pod(t *sim.Task, pod *corev1.Pod, deleted bool) {
	if len(pod.Spec.ResourceClaims) == 0 && pod.Status.ExtendedResourceClaimStatus == nil {
		return
	}
	if deleted {
		c.gone = append(c.gone, pod.UID)
		c.gone = c.gone[max(0, len(c.gone)-mostGone):]
	}
	if c.loop == nil {
		c.want()
		return
	}
	if deleted || isDone(pod) {
		for _, key := range claimsOf(pod) {
			c.loop.Add(t, claimPrefix+key)
		}
		if of := pod.Status.ExtendedResourceClaimStatus; of != nil {
			c.loop.Add(t, claimPrefix+informer.Key(pod.Namespace, of.ResourceClaimName))
		}
	}
	if c.lacks(pod) {
		c.loop.Add(t, podPrefix+informer.KeyOf(pod))
	}
}

// isDone reports whether a pod needs its claims no more (isPodDone, podNeedsClaims).
func isDone(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed ||
		pod.DeletionTimestamp != nil && pod.Spec.NodeName == ""
}

// lacks reports whether there is something to do for a pod (podNeedsWork).
func (c *Controller) lacks(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil {
		return false
	}
	for i := range pod.Spec.ResourceClaims {
		wants := &pod.Spec.ResourceClaims[i]
		name, own, err := resourceclaim.Name(pod, wants)
		if err != nil {
			return true
		}
		if name == nil {
			continue // it is not needed
		}
		obj, ok := c.claims.Get(informer.Key(pod.Namespace, *name))
		if !ok {
			if wants.ResourceClaimTemplateName != nil {
				return true
			}
			continue // a person has to make it
		}
		claim := obj.(*resourcev1.ResourceClaim)
		if own && resourceclaim.IsForPod(pod, claim, false) != nil {
			continue // another has its name
		}
		if pod.Spec.NodeName != "" && toReserve(pod, claim) {
			return true
		}
	}
	return false
}

// toReserve reports whether a claim is to be reserved for a pod that is on a node.
func toReserve(pod *corev1.Pod, claim *resourcev1.ResourceClaim) bool {
	return claim.Status.Allocation != nil && !resourceclaim.IsReservedForPod(pod, claim, false) && resourceclaim.CanBeReserved(claim)
}

// claim has a claim looked at, and the pods that have it (enqueueResourceClaim).
func (c *Controller) claim(t *sim.Task, claim *resourcev1.ResourceClaim, deleted bool) {
	key := informer.KeyOf(claim)
	if !deleted {
		c.loop.Add(t, claimPrefix+key)
	}
	for _, obj := range c.pods.ByIndex(byClaim, key) {
		c.pod(t, obj.(*corev1.Pod), false)
	}
}

// refOf is what a key of the queue names.
func refOf(key string) trace.Ref {
	if of, ok := strings.CutPrefix(key, podPrefix); ok {
		return client.Pods.Ref(informer.SplitKey(of))
	}
	return client.ResourceClaims.Ref(informer.SplitKey(strings.TrimPrefix(key, claimPrefix)))
}

// sync looks at a pod or a claim (syncHandler).
func (c *Controller) sync(run *reconcile.Run) error {
	if key, ok := strings.CutPrefix(run.Key, podPrefix); ok {
		return c.syncPod(run, key)
	}
	return c.syncClaim(run, strings.TrimPrefix(run.Key, claimPrefix))
}
