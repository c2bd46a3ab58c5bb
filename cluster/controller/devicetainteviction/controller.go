// Package devicetainteviction is the device taint eviction controller: it deletes the pods whose
// ResourceClaims have devices with a NoExecute taint that the claims do not tolerate, at once or
// when their tolerationSeconds are over.
//
// The worked idea. Pod train has the claim one, for which the scheduler allocated gpu-0 of
// node-2's pool. The fan of gpu-0 fails, and somebody says so: the driver, in its ResourceSlice,
// or an administrator, in a DeviceTaintRule that selects the device:
//
//	taint                    tolerations of the claim's request   then
//	fan=broken:NoSchedule    any                                  the pod stays; no new claim gets the device
//	fan=broken:NoExecute     none for this taint                  the pod is deleted now
//	fan=broken:NoExecute     fan for 60 s                         deleted 60 s after the taint's timeAdded,
//	                                                              unless the taint is gone by then
//	fan=broken:NoExecute     fan without a limit                  the pod stays
//	fan=broken:None          any                                  nothing, and the rule's status says how many
//	                                                              pods NoExecute would evict
//
// It is the claim that tolerates, as it was when its device was allocated, not the pod. The pod is
// deleted as by kubectl delete: its owner makes another, the claim that was made for it goes with
// it, and the next claim gets another device.
//
// Mirrors pkg/controller/devicetainteviction without its alpha part (claims of PodGroups). As there,
// all that decides runs in the informers' handlers; the queue has pods that are to be deleted and
// rules whose status is to be written. Simplified: nothing is watched before the first claim or
// rule. Start reading at [Controller.watch], then judge.go (which pods must go, and when), and
// evict.go.
package devicetainteviction

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Simplified,
	What: "the device taint eviction controller watches nothing before the first ResourceClaim or DeviceTaintRule, and knows no claims of PodGroups, which are alpha",
})

// Name is the controller's name, which its queue has too, and its Events, and its fields in the
// status of rules.
const Name = "device-taint-eviction-controller"

// The beginnings of the queue's keys.
const (
	podPrefix  = "pod:"
	rulePrefix = "rule:"
)

// Controller is the device taint eviction controller.
type Controller struct {
	*reconcile.Env
	pods, claims, slices, rules *informer.Informer
	loop                        *reconcile.Loop

	judge   judge
	planned map[string]eviction // by key of the queue (deletePodAt)
	evicted []types.UID         // pods, the newest last (evictedPods)
	count   map[types.UID]int   // pods that a rule had evicted since the controller started (taintRuleStats)
}

// mostEvicted is how many pods are remembered that were evicted (maxUIDCacheEntries).
const mostEvicted = 500

// New makes the controller; Start starts it.
func New(env *reconcile.Env) *Controller {
	return &Controller{Env: env, judge: newJudge(), planned: map[string]eviction{}, count: map[types.UID]int{}}
}

// Start waits for the first claim or rule, and then begins to work.
func (c *Controller) Start() {
	c.Process.Go("await", func(t *sim.Task) {
		client.AwaitUseOf(t, c.Client, client.ResourceClaims, client.DeviceTaintRules)
		c.watch()
	})
}

func (c *Controller) watch() {
	c.pods, c.claims = c.Informers.For(client.Pods), c.Informers.For(client.ResourceClaims)
	c.slices, c.rules = c.Informers.For(client.ResourceSlices), c.Informers.For(client.DeviceTaintRules)
	c.loop = reconcile.NewLoop(c.Env, Name, client.Pods, c.sync)
	c.loop.RefOf = refOf
	handles(c.claims, c.claimChanged)
	handles(c.pods, c.podChanged)
	handles(c.rules, c.ruleChanged)
	handles(c.slices, c.sliceChanged)
	c.loop.Start(c.pods, c.claims, c.slices, c.rules)
}

// handles has an informer call fn for each change.
func handles[T runtime.Object](i *informer.Informer, fn func(t *sim.Task, old, new T)) {
	var none T
	i.AddHandler(informer.Handler{
		Add:    func(t *sim.Task, o runtime.Object, _ trace.ID) { fn(t, none, o.(T)) },
		Update: func(t *sim.Task, old, o runtime.Object, _ trace.ID) { fn(t, old.(T), o.(T)) },
		Delete: func(t *sim.Task, o runtime.Object, _ trace.ID) { fn(t, o.(T), none) },
	})
}

// podKey and ruleKey are the keys of the queue (workItem): the name may become another object's.
func podKey(pod *corev1.Pod) string { return podPrefix + informer.KeyOf(pod) + ":" + string(pod.UID) }

func ruleKey(rule *resourcev1.DeviceTaintRule) string {
	return rulePrefix + rule.Name + ":" + string(rule.UID)
}

// refOf is what a key of the queue names.
func refOf(key string) trace.Ref {
	kind := client.Pods
	of, ok := strings.CutPrefix(key, podPrefix)
	if !ok {
		kind, of = client.DeviceTaintRules, strings.TrimPrefix(key, rulePrefix)
	}
	name, uid, _ := strings.Cut(of, ":")
	ref := kind.Ref(informer.SplitKey(name))
	ref.UID = uid
	return ref
}

// sync deletes a pod or writes the status of a rule (handleWork).
func (c *Controller) sync(run *reconcile.Run) error {
	of := refOf(run.Key)
	if strings.HasPrefix(run.Key, podPrefix) {
		return c.syncPod(run, of)
	}
	return c.syncRule(run, of)
}

// claimChanged takes note of a claim's allocation, and looks at its pods (handleClaimChange).
func (c *Controller) claimChanged(t *sim.Task, old, claim *resourcev1.ResourceClaim) {
	switch {
	case claim == nil:
		delete(c.judge.claims, informer.KeyOf(old))
		c.podsOf(t, old)
	case old == nil:
		if claim.Status.Allocation != nil {
			c.judge.allocated(claim)
			c.podsOf(t, claim)
		}
	case old.UID != claim.UID:
		c.claimChanged(t, old, nil)
		c.claimChanged(t, nil, claim)
	case claim.Status.Allocation == nil && old.Status.Allocation == nil:
	default:
		key := informer.KeyOf(claim)
		switch {
		case claim.Status.Allocation == nil:
			delete(c.judge.claims, key)
		case old.Status.Allocation == nil:
			c.judge.allocated(claim)
		default: // an allocation stays as it was made, and so does what was found
			c.judge.claims[key] = allocated{claim, c.judge.claims[key].goes}
		}
		if !slices.Equal(old.Status.ReservedFor, claim.Status.ReservedFor) {
			c.podsOf(t, old)
		}
		c.podsOf(t, claim)
	}
}

// ruleChanged looks at all claims again, and has the rule's status written (handleRuleChange).
func (c *Controller) ruleChanged(t *sim.Task, old, rule *resourcev1.DeviceTaintRule) {
	switch {
	case old == nil:
		c.loop.Add(t, ruleKey(rule)) // at once, before any pod is evicted
	case rule == nil:
		delete(c.count, old.UID)
	case old.UID == rule.UID:
		if sameSpec(old, rule) {
			return
		}
		c.loop.Add(t, ruleKey(rule))
	}
	if old != nil {
		delete(c.judge.rules, old.Name)
	}
	if rule != nil && rule.Spec.Taint.Effect == resourcev1.DeviceTaintEffectNoExecute {
		c.judge.rules[rule.Name] = rule
	}
	c.again(t, func(*resourcev1.ResourceClaim) bool { return true })
}

// sliceChanged looks at the claims again that have devices whose taints changed (handleSliceChange).
func (c *Controller) sliceChanged(t *sim.Task, old, slice *resourcev1.ResourceSlice) {
	of := poolOf(old, slice)
	was := c.judge.pools[of].tainted()
	c.judge.replace(of, old, slice)
	changed := differ(was, c.judge.pools[of].tainted())
	if len(changed) == 0 {
		return
	}
	c.again(t, func(claim *resourcev1.ResourceClaim) bool {
		return slices.ContainsFunc(claim.Status.Allocation.Devices.Results, func(d resourcev1.DeviceRequestAllocationResult) bool {
			return d.Driver == of.driver && d.Pool == of.name && changed[d.Device]
		})
	})
}

// again looks at allocated claims again, and at the pods of those for which something else was
// found. As upstream has it, nothing found is something else than nothing.
func (c *Controller) again(t *sim.Task, which func(*resourcev1.ResourceClaim) bool) {
	for _, key := range c.judge.keys() {
		is := c.judge.claims[key]
		if !which(is.ResourceClaim) {
			continue
		}
		if found := c.judge.claim(is.ResourceClaim); !found.equal(is.goes) {
			c.judge.claims[key] = allocated{is.ResourceClaim, found}
			c.podsOf(t, is.ResourceClaim)
		}
	}
}

// podsOf looks at the pods that a claim is reserved for (handlePods).
func (c *Controller) podsOf(t *sim.Task, claim *resourcev1.ResourceClaim) {
	for _, by := range claim.Status.ReservedFor {
		if by.APIGroup != "" || by.Resource != "pods" {
			continue
		}
		if obj, ok := c.pods.Get(informer.Key(claim.Namespace, by.Name)); ok && obj.(metav1.Object).GetUID() == by.UID {
			c.pod(t, obj.(*corev1.Pod))
		}
	}
}

// podChanged looks at a pod that came, that got a node, or whose claims got names (handlePodChange).
func (c *Controller) podChanged(t *sim.Task, old, pod *corev1.Pod) {
	switch {
	case pod == nil:
		delete(c.planned, podKey(old))
	case old == nil, old.Spec.NodeName != pod.Spec.NodeName, !sameClaims(old, pod):
		c.pod(t, pod)
	}
}
