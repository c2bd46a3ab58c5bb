// Package disruption is the disruption controller: it counts the pods of each
// PodDisruptionBudget, so that the API server knows how many of them may be evicted.
//
// The worked idea. A budget says minAvailable: 50% of the pods with app=web. They
// belong to a Deployment with replicas: 4, of which 3 pods are ready:
//
//  1. expectedPods is 4: the sum of what the pods' owners ask for, not the number of
//     pods there are (a Deployment that is short of pods does not need fewer of them)
//  2. desiredHealthy is 50% of 4, rounded up: 2
//  3. currentHealthy is 3, and so disruptionsAllowed is 3 - 2 = 1
//
// The eviction of a pod takes one from disruptionsAllowed, in the API server, and notes
// the pod in disruptedPods. Until its deletion is seen here, for at most 2 minutes, a
// pod that is noted there does not count as healthy; else two kubectl drain at a time
// would spend the same disruption.
//
// Two more queues: one brings back a budget whose noted pod is still there after the 2
// minutes; the other takes the condition DisruptionTarget from a pod that was to be
// disrupted and, 2 minutes later, still is not being deleted.
//
// Mirrors pkg/controller/disruption. Simplified: of several budgets that match a pod it looks
// at the first by name, upstream at any of them. Nothing is watched before the first budget.
// Start reading at sync.go.
package disruption

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Simplified,
	What: "of several PodDisruptionBudgets that match a pod the disruption controller looks at the first by name, upstream's at any",
})

// The controller's name, and where its Events come from.
const (
	Name   = "disruption-controller"
	Source = "controllermanager"
)

// Upstream's numbers.
const (
	// DeletionTimeout is how long an evicted pod may take until its deletion is seen.
	DeletionTimeout = 2 * time.Minute
	// StaleTimeout is how long a pod may have the condition DisruptionTarget before it
	// is being deleted (stalePodDisruptionTimeout).
	StaleTimeout = 2 * time.Minute
)

// Controller is the disruption controller.
type Controller struct {
	*reconcile.Env
	pods    *informer.Informer
	budgets *informer.Informer // nil before there is one
	owners  owners
	loop    *reconcile.Loop
	recheck *reconcile.Loop // budgets to be looked at later
	stale   *reconcile.Loop // pods whose disruption did not happen

	selectors selectors
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env) *Controller {
	c := &Controller{Env: env, pods: env.Informers.For(client.Pods), selectors: selectors{}}
	c.stale = reconcile.NewLoop(env, "stale_pod_disruption", client.Pods, c.syncStale)
	c.pods.AddHandler(informer.Handler{
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.seeStale(t, obj.(*corev1.Pod)) },
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { c.seeStale(t, obj.(*corev1.Pod)) },
	})
	return c
}

// Start starts the worker that looks after pods and, from the first budget on, those
// that look after budgets.
func (c *Controller) Start() {
	c.stale.Start(c.pods)
	c.Process.Go("await", func(t *sim.Task) {
		client.AwaitUseOf(t, c.Client, client.PodDisruptionBudgets)
		c.watch()
	})
}

func (c *Controller) watch() {
	c.budgets = c.Informers.For(client.PodDisruptionBudgets)
	c.owners.watch(c.Env)
	c.loop = reconcile.NewLoop(c.Env, "disruption", client.PodDisruptionBudgets, c.sync)
	c.recheck = reconcile.NewLoop(c.Env, "disruption_recheck", client.PodDisruptionBudgets, func(run *reconcile.Run) error {
		c.loop.AddRateLimited(run.T, run.Key)
		return nil
	})
	budget := func(t *sim.Task, obj runtime.Object) { c.loop.Add(t, informer.KeyOf(obj)) }
	c.budgets.AddHandler(informer.Handler{
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { budget(t, obj) },
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { budget(t, obj) },
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) {
			delete(c.selectors, informer.KeyOf(obj))
			budget(t, obj)
		},
	})
	c.pods.AddHandler(informer.Handler{
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.podChanged(t, obj.(*corev1.Pod)) },
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { c.podChanged(t, obj.(*corev1.Pod)) },
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.podChanged(t, obj.(*corev1.Pod)) },
	})
	needed := append(c.owners.informers(), c.pods, c.budgets)
	c.loop.Start(needed...)
	c.recheck.Start(needed...)
}

// podChanged has the budget of a pod looked at (getPdbForPod).
func (c *Controller) podChanged(t *sim.Task, pod *corev1.Pod) {
	var first *policyv1.PodDisruptionBudget
	n := 0
	for _, obj := range c.budgets.ListNamespace(pod.Namespace) {
		b := obj.(*policyv1.PodDisruptionBudget)
		if sel, err := c.selectors.of(b); err != nil || !sel.Matches(labels.Set(pod.Labels)) {
			continue
		}
		if n++; first == nil {
			first = b
		}
	}
	if first == nil {
		return
	}
	if n > 1 {
		c.Events.Event(t, pod, corev1.EventTypeWarning, "MultiplePodDisruptionBudgets",
			"Pod %q/%q matches multiple PodDisruptionBudgets.  Chose %q arbitrarily.", pod.Namespace, pod.Name, first.Name)
	}
	c.loop.Add(t, informer.KeyOf(first))
}
