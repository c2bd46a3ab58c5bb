// Package horizontalpodautoscaler is the HorizontalPodAutoscaler controller: every 15 seconds it
// asks what the pods of a target use, and changes how many of them there are.
//
// The worked idea. An autoscaler says averageUtilization: 60 of cpu, minReplicas: 2,
// maxReplicas: 10, for a Deployment with 4 pods that request 100m each and use 90m:
//
//  1. utilization is of what pods request: 90%, and so the ratio is 90 / 60 = 1.5
//  2. a ratio between 0.9 and 1.1 would be near enough; this one proposes 4 × 1.5 = 6, rounded up
//  3. of several metrics the highest proposal counts
//  4. stabilization: the highest proposal of the last 5 minutes counts, and so the target
//     shrinks late; it may grow at once
//  5. at most twice the pods (or 4) at a time, or what spec.behavior says of it, and no more than
//     maxReplicas
//  6. it writes 6 into the scale subresource of the target, whatever kind that is
//
// A pod without a value counts so that the target changes less: as 0 where the others ask for
// more pods, as all that it requests where they ask for fewer. A pod that has just started and
// is not ready counts as 0 in the first case, and not at all in the second.
//
// What was recommended and done before is in memory only: after a restart the target may
// shrink at once.
//
// Mirrors pkg/controller/podautoscaler. Simplified: which of several conflicting autoscalers an
// Event names goes by their names, upstream's are any two. Nothing is watched before the
// first autoscaler. Start reading at sync.go; the arithmetic is in calculate.go (what the metrics
// propose) and recommend.go (what becomes of it).
package horizontalpodautoscaler

import (
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/controller/expect"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Simplified,
	What: "the HorizontalPodAutoscaler controller learns without requests which custom kinds and which metrics APIs there are, where upstream's asks discovery every 15 s",
})

// The controller's name, where its Events come from, and its ServiceAccount.
const (
	Name    = "horizontal-pod-autoscaler-controller"
	Source  = "horizontal-pod-autoscaler"
	Account = "horizontal-pod-autoscaler"
)

// Upstream's numbers (podautoscaler/config/v1alpha1 defaults.go).
const (
	// SyncPeriod is how often each autoscaler is looked at.
	SyncPeriod = 15 * time.Second
	// Tolerance is how far from 1 a ratio may be without any change, unless spec.behavior says.
	Tolerance = 0.1
	// Stabilization is how long a recommendation keeps the target from shrinking, unless
	// spec.behavior says.
	Stabilization = 5 * time.Minute
	// CPUInitialization is how long after a pod's start its CPU counts only while it is ready.
	CPUInitialization = 5 * time.Minute
	// InitialReadiness is how long after its start a pod that became unready may count as one
	// that has never been ready.
	InitialReadiness = 30 * time.Second
)

// Controller is the HorizontalPodAutoscaler controller.
type Controller struct {
	*reconcile.Env
	hpas, pods *informer.Informer
	loop       *reconcile.Loop
	written    *expect.Written

	calculator calculator
	memory     memory
	selectors  selectors
	kinds      kinds
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env) *Controller {
	return &Controller{Env: env, memory: newMemory(), selectors: selectors{}}
}

// Start waits for the first autoscaler and then begins to work.
func (c *Controller) Start() {
	c.Process.Go("await", func(t *sim.Task) {
		client.AwaitUseOf(t, c.Client, client.HorizontalPodAutoscalers)
		c.watch()
		c.loop.Start(c.hpas, c.pods)
	})
}

func (c *Controller) watch() {
	c.hpas, c.pods = c.Informers.For(client.HorizontalPodAutoscalers), c.Informers.For(client.Pods)
	c.written = expect.NewWritten(c.hpas)
	c.kinds.watch(c.Env)
	c.calculator = calculator{source: metricsAPIs{c.Client, &c.kinds}, pods: c.podsOf}
	c.loop = reconcile.NewLoop(c.Env, "horizontalpodautoscaler", client.HorizontalPodAutoscalers, c.sync)
	c.loop.Persistent = true
	c.loop.SetInterval(SyncPeriod)
	c.hpas.AddHandler(informer.Handler{
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.added(t, obj) },
		Update: func(t *sim.Task, old, obj runtime.Object, _ trace.ID) { c.changed(t, old, obj) },
		Delete: func(_ *sim.Task, obj runtime.Object, _ trace.ID) { c.deleted(obj) },
	})
}

// added has an autoscaler looked at now. It selects nothing until its first run (enqueueHPA).
func (c *Controller) added(t *sim.Task, obj runtime.Object) {
	hpa := obj.(*autoscalingv2.HorizontalPodAutoscaler)
	if key := informer.KeyOf(hpa); !c.selectors.has(hpa.Namespace, key) {
		c.selectors.put(hpa.Namespace, key, labels.Nothing())
	}
	c.loop.Add(t, informer.KeyOf(hpa))
}

// changed has one with a new spec looked at now. What else changes is its status, which this
// controller writes: that can wait (updateHPA).
func (c *Controller) changed(t *sim.Task, old, obj runtime.Object) {
	if old.(*autoscalingv2.HorizontalPodAutoscaler).Generation != obj.(*autoscalingv2.HorizontalPodAutoscaler).Generation {
		c.added(t, obj)
		return
	}
	c.loop.AddRateLimited(t, informer.KeyOf(obj))
}

// deleted forgets which pods one selects. What was recommended is forgotten by its next run
// (deleteHPA).
func (c *Controller) deleted(obj runtime.Object) {
	hpa := obj.(*autoscalingv2.HorizontalPodAutoscaler)
	key := informer.KeyOf(hpa)
	c.written.Forget(key)
	c.loop.Forget(key)
	c.selectors.drop(hpa.Namespace, key)
}
