// Package namespace is the namespace controller: it empties a namespace that
// is being deleted, and then lets it go.
//
// The worked idea. `kubectl delete namespace demo` only sets a
// deletionTimestamp: the finalizer "kubernetes" in spec.finalizers holds the
// object, and from now on nothing new can be made in it. The controller then
//
//  1. deletes the pods and waits until they are gone (their grace periods run),
//     since pods may need other objects of the namespace to end well
//  2. deletes everything else, kind by kind
//  3. if something is left (it has finalizers of its own), says so in the
//     namespace's conditions and comes back
//  4. takes away the finalizer, with a request of its own (subresource
//     finalize), and the object vanishes
//
// A namespace stuck in Terminating is always step 3: its conditions name what is
// left.
//
// Mirrors pkg/controller/namespace. Simplified: instead of using discovery, it takes
// the kinds that are in use ([client.InUse]) and those that CustomResourceDefinitions
// name. Start reading at [Controller.sync].
package namespace

import (
	"errors"
	"fmt"
	"time"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Simplified,
	What: "the contents of a namespace are found through the kinds in use and those that CustomResourceDefinitions name, instead of by discovery",
})

// Name is the controller's name.
const Name = "namespace-controller"

// graceful is how long the controller waits before it begins, so that other
// components see the deletion first (namespaceDeletionGracePeriod).
const graceful = 5 * time.Second

// resync is how often every namespace is looked at again
// (--namespace-sync-period).
const resync = 5 * time.Minute

// maxRetry is how long it takes at most until a deletion that failed is tried again
// (nsControllerRateLimiter).
const maxRetry = time.Minute

// finalizerEstimate is how long content with finalizers is guessed to stay.
const finalizerEstimate = 15 * time.Second

// Controller is the namespace controller.
type Controller struct {
	*reconcile.Env
	namespaces *informer.Informer
	loop       *reconcile.Loop
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env) *Controller {
	c := &Controller{Env: env, namespaces: env.Informers.For(client.Namespaces)}
	c.loop = reconcile.NewLoop(env, "namespace", client.Namespaces, c.sync)
	c.loop.SetMaxDelay(maxRetry)
	enqueue := func(t *sim.Task, obj runtime.Object) {
		if obj.(*corev1.Namespace).DeletionTimestamp != nil {
			c.loop.AddAfter(t, informer.KeyOf(obj), graceful)
		}
	}
	c.namespaces.AddHandler(informer.Handler{
		Resync: resync,
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { enqueue(t, obj) },
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { enqueue(t, obj) },
	})
	return c
}

// Start starts the workers.
func (c *Controller) Start() { c.loop.Start(c.namespaces) }

// sync takes the deletion of one namespace further
// (namespaced_resources_deleter.go Delete).
func (c *Controller) sync(run *reconcile.Run) error {
	ns, err := client.Get[*corev1.Namespace](run.T, c.Client, client.Namespaces, "", run.Name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if ns.DeletionTimestamp == nil || len(ns.Spec.Finalizers) == 0 {
		return nil
	}
	if ns.Status.Phase != corev1.NamespaceTerminating {
		run.Act("update", client.RefOf(ns), corev1.NamespaceTerminating, ns.Status.Phase, "namespace %s is being deleted: note it in its phase", ns.Name)
		ns.Status.Phase = corev1.NamespaceTerminating
		if ns, err = client.UpdateStatus(run.T, c.Client, client.Namespaces, "", ns); err != nil {
			return ignoreGone(err)
		}
	}
	left, err := c.deleteContent(run, ns)
	if err != nil {
		return err
	}
	if left > 0 {
		// Somewhat after the estimate's half, as upstream.
		run.Again(left/2 + time.Second)
		return nil
	}
	return c.finalize(run, ns)
}

// finalize takes away the finalizer "kubernetes".
func (c *Controller) finalize(run *reconcile.Run, ns *corev1.Namespace) error {
	fresh, err := client.Get[*corev1.Namespace](run.T, c.Client, client.Namespaces, "", ns.Name)
	if err != nil {
		return ignoreGone(err)
	}
	kept := []corev1.FinalizerName{}
	for _, f := range fresh.Spec.Finalizers {
		if f != corev1.FinalizerKubernetes {
			kept = append(kept, f)
		}
	}
	run.Act("update", client.RefOf(ns), kept, fresh.Spec.Finalizers, "nothing is left in namespace %s: remove its finalizer, so that it can go", ns.Name)
	fresh.Spec.Finalizers = kept
	_, err = c.Client.Update(run.T, client.Namespaces, "", fresh, "finalize")
	return ignoreGone(err)
}

func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// remains is what is left of one kind.
type remains struct {
	resource   client.Resource
	items      int
	finalizers map[string]int
	estimate   time.Duration
}

// deleteContent deletes pods first and the rest when they are gone. It gives how
// long what is left may take (deleteAllContent).
//
// What other servers serve is no different: while one of them cannot be asked what
// that is, there may be something left that nobody knows of, so the namespace stays.
func (c *Controller) deleteContent(run *reconcile.Run, ns *corev1.Namespace) (time.Duration, error) {
	found := c.discover()
	pods, err := c.deleteKind(run, ns, client.Pods)
	if err != nil || pods.items > 0 {
		if err != nil {
			found.errs = append(found.errs, err)
		}
		found.left, found.totals = []remains{pods}, err != nil
		c.report(run, ns, found)
		return pods.estimate, errors.Join(found.unknown, err)
	}
	estimate := time.Duration(0)
	kinds := client.InUse(c.Client)
	custom, err := client.CustomResources(run.T, c.Client)
	if err != nil {
		found.errs = append(found.errs, err)
	}
	for _, r := range append(kinds, custom...) {
		if !r.Namespaced || r == client.Pods {
			continue
		}
		rest, err := c.deleteKind(run, ns, r)
		if err != nil {
			found.errs = append(found.errs, err)
		}
		if rest.items > 0 {
			found.left = append(found.left, rest)
		}
		estimate = max(estimate, rest.estimate)
	}
	found.totals = true
	c.report(run, ns, found)
	return estimate, errors.Join(append([]error{found.unknown}, found.errs...)...)
}

// discover finds out which group versions cannot be discovered, as the error that a
// discovery client has of them.
func (c *Controller) discover() (found findings) {
	stale := client.StaleGroups(c.Client)
	if len(stale) == 0 {
		return found
	}
	var said apidiscovery.APIGroupDiscoveryList
	for _, s := range stale {
		said.Items = append(said.Items, apidiscovery.APIGroupDiscovery{
			ObjectMeta: metav1.ObjectMeta{Name: s.Group},
			Versions:   []apidiscovery.APIVersionDiscovery{{Version: s.Version, Freshness: apidiscovery.DiscoveryFreshnessStale}},
		})
		if !s.Why.IsZero() {
			found.why = append(found.why, s.Why)
		}
	}
	_, _, failed := discovery.SplitGroupsAndResources(said)
	found.unknown = &discovery.ErrGroupDiscoveryFailed{Groups: failed}
	return found
}

// deleteKind deletes all objects of one kind in the background and counts what
// stays (deleteAllContentForGroupVersionResource).
func (c *Controller) deleteKind(run *reconcile.Run, ns *corev1.Namespace, r client.Resource) (remains, error) {
	rest := remains{resource: r, finalizers: map[string]int{}}
	items, _, err := c.Client.List(run.T, r, ns.Name, metav1.ListOptions{})
	if err != nil || len(items) == 0 {
		return rest, err
	}
	if r == client.Pods {
		rest.estimate = graceLeft(items, ns.DeletionTimestamp.Time, run.T.Now())
	}
	if fresh := undeleted(items); fresh > 0 {
		run.Act("delete", r.Ref(ns.Name, ""), 0, len(items), "namespace %s is being deleted and has %d %s: delete them", ns.Name, len(items), r.Resource)
	}
	background := metav1.DeletePropagationBackground
	for _, obj := range items {
		err := c.Client.Delete(run.T, r, ns.Name, client.RefOf(obj).Name, metav1.DeleteOptions{PropagationPolicy: &background})
		if err != nil && !apierrors.IsNotFound(err) {
			return rest, err
		}
	}
	items, _, err = c.Client.List(run.T, r, ns.Name, metav1.ListOptions{})
	if err != nil {
		return rest, err
	}
	rest.items = len(items)
	for _, obj := range items {
		for _, f := range obj.(metav1.Object).GetFinalizers() {
			rest.finalizers[f]++
		}
	}
	switch {
	case rest.items == 0:
		rest.estimate = 0
	case rest.estimate == 0 && len(rest.finalizers) > 0:
		rest.estimate = finalizerEstimate
	case rest.estimate == 0:
		return rest, fmt.Errorf("unexpected items still remain in namespace: %s for gvr: %s", ns.Name, r.GroupVersionResource.String())
	}
	return rest, nil
}

func undeleted(items []runtime.Object) (n int) {
	for _, obj := range items {
		if obj.(metav1.Object).GetDeletionTimestamp() == nil {
			n++
		}
	}
	return n
}

// graceLeft is the longest grace period among the pods, as long as the
// namespace's deletion is not that long ago (estimateGracefulTermination).
func graceLeft(items []runtime.Object, since, now time.Time) time.Duration {
	longest := time.Duration(0)
	for _, obj := range items {
		pod := obj.(*corev1.Pod)
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || pod.Spec.TerminationGracePeriodSeconds == nil {
			continue
		}
		longest = max(longest, time.Duration(*pod.Spec.TerminationGracePeriodSeconds)*time.Second)
	}
	if now.Sub(since) >= longest {
		return 0
	}
	return longest
}
