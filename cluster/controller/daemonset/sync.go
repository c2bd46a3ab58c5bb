package daemonset

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/controller/daemon/util"

	"kviz/cluster/client"
	"kviz/cluster/controller/ownerref"
	"kviz/cluster/controller/pods"
	"kviz/cluster/controller/reconcile"
)

// look is one look at a DaemonSet, its nodes and its pods.
type look struct {
	*Controller
	run      *reconcile.Run
	ds       *appsv1.DaemonSet
	selector labels.Selector
	all      []node
	byName   map[string]int // where in all a node is

	mine []*corev1.Pod            // as they were claimed last
	on   map[string][]*corev1.Pod // them, by node, see byNode

	hash       string // of the newest revision
	generation *int64 // of the template, as very old pods say it
}

// node is a node, and whether a pod of the set should run there, and may stay there.
type node struct {
	*corev1.Node
	should, may bool
}

// sync brings one DaemonSet one step further (syncDaemonSet).
func (c *Controller) sync(run *reconcile.Run) error {
	if err := c.written.Seen(run.Key); err != nil {
		return err
	}
	obj, ok := c.sets.Get(run.Key)
	if !ok {
		c.forget(run.Key)
		run.Gone()
		return nil
	}
	ds := obj.(*appsv1.DaemonSet)
	selector, err := metav1.LabelSelectorAsSelector(ds.Spec.Selector)
	if err != nil {
		return err
	}
	if selector.Empty() {
		c.Events.Event(run.T, ds, corev1.EventTypeWarning, "SelectingAll", "This daemon set is selecting all pods. A non-empty selector is required.")
		return nil
	}
	if ds.DeletionTimestamp != nil {
		return nil // its revisions may be gone already, and nothing can be said of its pods
	}
	l := &look{Controller: c, run: run, ds: ds, selector: selector}
	l.nodes()
	c.failed.sweep(run.T.Now())
	run.Look(len(l.all))
	current, old, err := l.revisions()
	if err != nil {
		return fmt.Errorf("failed to construct revisions of DaemonSet: %w", err)
	}
	l.hash = current.Labels[hashLabel]
	if l.generation, err = util.GetTemplateGeneration(ds); err != nil {
		l.generation = nil // the hash decides
	}
	if !c.expect.Satisfied(run.Key, run.T.Now()) {
		created, deleted := c.expect.Outstanding(run.Key)
		run.Waits("its cache does not show yet what it asked for: %d to be created, %d to be deleted", created, deleted)
		return l.updateStatus(false) // what was asked for is not seen yet
	}
	err = l.step(old)
	if statusErr := l.updateStatus(true); err == nil {
		err = statusErr
	}
	return err
}

// nodes looks at all nodes, once for the whole sync.
func (l *look) nodes() {
	list, place := l.Controller.nodes.List(), placeOf(l.ds)
	l.all, l.byName = make([]node, 0, len(list)), make(map[string]int, len(list))
	for i, obj := range list {
		n := node{Node: obj.(*corev1.Node)}
		n.should, n.may = place.on(n.Node)
		l.all, l.byName[n.Name] = append(l.all, n), i
	}
}

// step takes it (updateDaemonSet).
func (l *look) step(old []*appsv1.ControllerRevision) error {
	if err := l.manage(); err != nil {
		return err
	}
	if l.ds.Spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType && l.expect.Satisfied(l.run.Key, l.run.T.Now()) {
		if err := l.roll(); err != nil {
			return err
		}
	}
	if err := l.truncate(old); err != nil {
		return fmt.Errorf("failed to clean up revisions of DaemonSet: %w", err)
	}
	return nil
}

func (l *look) claimer(of client.Resource) *ownerref.Claimer {
	return &ownerref.Claimer{Run: l.run, Client: l.Client, Owner: l.ds, OwnerOf: client.DaemonSets, Kind: of, Selector: l.selector}
}

// claim gives the set's pods, adopting and releasing (getDaemonPods).
func (l *look) claim() ([]*corev1.Pod, error) {
	claimer := l.claimer(client.Pods)
	claimer.Adopted = func(pod runtime.Object) { l.written.At(l.run.Key, l.pods, pod) }
	return ownerref.Claim(claimer, ownerref.Candidates[*corev1.Pod](l.pods, l.ds.Namespace, l.ds.UID))
}

// byNode gives the pods that are on a node, or can go nowhere else; those that have ended and
// are being deleted only with gone (getNodesToDaemonPods). The map is not to be changed: most often
// it is the same again.
func (l *look) byNode(gone bool) (map[string][]*corev1.Pod, error) {
	list, err := l.claim()
	if err != nil {
		return nil, fmt.Errorf("couldn't get node to daemon pod mapping for daemon set %q: %w", l.ds.Name, err)
	}
	if !gone && l.on != nil && slices.Equal(list, l.mine) {
		return l.on, nil
	}
	on := make(map[string][]*corev1.Pod, len(l.all))
	for _, pod := range list {
		if !gone && pods.Terminal(pod) && pod.DeletionTimestamp != nil {
			continue
		}
		if node, err := util.GetTargetNodeName(pod); err == nil {
			on[node] = append(on[node], pod)
		}
	}
	if !gone {
		l.mine, l.on = list, on
	}
	return on, nil
}
