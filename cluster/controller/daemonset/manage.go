package daemonset

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/controller/daemon/util"

	"kviz/cluster/client"
	"kviz/cluster/controller/pods"
	"kviz/cluster/sim"
)

// BurstReplicas is the most pods that one sync creates or deletes.
const BurstReplicas = 250

// plan is what is to be done: nodes that get a pod, pods that go, by name.
type plan struct {
	create, delete []string
	why            string
}

// manage has a pod on each node that should have one, and none on others (manage).
func (l *look) manage() error {
	on, err := l.byNode(false)
	if err != nil {
		return err
	}
	p := plan{}
	should := 0
	for _, n := range l.all {
		if n.should {
			should++
		}
		l.node(&p, n, on[n.Name])
	}
	// Pods for nodes that are gone will never be scheduled; the others the garbage
	// collector of pods deletes.
	for _, name := range slices.Sorted(maps.Keys(on)) {
		if _, ok := l.byName[name]; ok {
			continue
		}
		for _, pod := range on[name] {
			if pod.Spec.NodeName == "" {
				p.delete = append(p.delete, pod.Name)
			}
		}
	}
	p.why = fmt.Sprintf("%d of %d nodes should run a pod of DaemonSet %s", should, len(l.all), l.ds.Name)
	return l.carryOut(p)
}

// node adds what is to be done on one node (podsShouldBeOnNode).
func (l *look) node(p *plan, n node, here []*corev1.Pod) {
	switch {
	case n.should && len(here) == 0:
		p.create = append(p.create, n.Name)
	case n.may:
		l.prune(p, n, here)
	default:
		for _, pod := range here {
			if pod.DeletionTimestamp == nil {
				p.delete = append(p.delete, pod.Name)
			}
		}
	}
}

// prune has those of a node's pods go that have ended, or are too many.
func (l *look) prune(p *plan, n node, here []*corev1.Pod) {
	running := l.running(p, n.Node, here)
	slices.SortFunc(running, olderFirst)
	surge := util.AllowsSurge(l.ds)
	switch {
	case surge && len(running) == 0 && n.should:
		p.create = append(p.create, n.Name)
		return
	case len(running) <= 1:
		return
	case !surge:
		for _, pod := range running[1:] {
			p.delete = append(p.delete, pod.Name)
		}
		return
	}
	// An old and a new one may stand side by side, as long as the old one is ready and the
	// new one not available.
	var newest, old *corev1.Pod
	for _, pod := range running {
		switch isNew := pod.Labels[hashLabel] == l.hash; {
		case isNew && newest == nil:
			newest = pod
		case !isNew && old == nil:
			old = pod
		default:
			p.delete = append(p.delete, pod.Name)
		}
	}
	if newest != nil && old != nil && (!pods.Ready(old) || l.available(newest)) {
		p.delete = append(p.delete, old.Name)
	}
}

// running gives those of a node's pods that have not ended. Those that have are deleted; a
// failed one only when its node's back-off is over.
func (l *look) running(p *plan, node *corev1.Node, here []*corev1.Pod) (running []*corev1.Pod) {
	for _, pod := range here {
		switch {
		case pod.DeletionTimestamp != nil:
		case pod.Status.Phase == corev1.PodFailed:
			key, now := fmt.Sprintf("%s/%d/%s", l.ds.UID, l.ds.Status.ObservedGeneration, node.Name), l.run.T.Now()
			if wait := l.failed.left(key, now); wait > 0 {
				l.run.Waits("pod %s on %s has failed: its node's back-off of %s has to pass before it is replaced", pod.Name, node.Name, wait.Round(time.Second))
				l.run.Again(wait)
				continue
			}
			l.failed.next(key, now)
			l.Events.Event(l.run.T, l.ds, corev1.EventTypeWarning, "FailedDaemonPod", "Found failed daemon pod %s/%s on node %s, will try to kill it", pod.Namespace, pod.Name, node.Name)
			p.delete = append(p.delete, pod.Name)
		case pod.Status.Phase == corev1.PodSucceeded:
			l.Events.Event(l.run.T, l.ds, corev1.EventTypeNormal, "SucceededDaemonPod", "Found succeeded daemon pod %s/%s on node %s, will try to delete it", pod.Namespace, pod.Name, node.Name)
			p.delete = append(p.delete, pod.Name)
		default:
			running = append(running, pod)
		}
	}
	return running
}

// olderFirst has the scheduled pods first, and the older ones (podByCreationTimestampAndPhase).
func olderFirst(a, b *corev1.Pod) int {
	switch bound, other := a.Spec.NodeName != "", b.Spec.NodeName != ""; {
	case bound && !other:
		return -1
	case !bound && other:
		return 1
	}
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
}

func (l *look) available(pod *corev1.Pod) bool {
	return pods.Available(pod, l.ds.Spec.MinReadySeconds, l.run.T.Now())
}

// updated reports whether a pod is of the newest revision.
func (l *look) updated(pod *corev1.Pod) bool { return util.IsPodUpdated(pod, l.hash, l.generation) }

// carryOut creates and deletes (syncNodes).
func (l *look) carryOut(p plan) error {
	create, del := p.create[:min(len(p.create), BurstReplicas)], p.delete[:min(len(p.delete), BurstReplicas)]
	l.expect.Numbers(l.run.Key, len(create), len(del), l.run.T.Now())
	var errs []error
	if len(create) > 0 {
		l.run.Act("create", client.Pods.Ref(l.ds.Namespace, ""), len(create), 0, "%s: create one on %s", p.why, names(create))
		template := util.CreatePodTemplate(l.ds.Spec.Template, l.generation, l.hash)
		tried, err := l.slowStart(create, func(t *sim.Task, node string) error { return l.createOn(t, template, node) })
		errs = append(errs, err)
		for range len(create) - tried {
			l.expect.Created(l.run.Key) // these are not even tried
		}
	}
	if len(del) > 0 {
		l.run.Act("delete", client.Pods.Ref(l.ds.Namespace, ""), 0, len(del), "%s: delete %s", p.why, names(del))
		failed := make([]error, len(del))
		l.Parallel(l.run.T, "delete", len(del), func(t *sim.Task, i int) { failed[i] = l.deletePodNamed(t, del[i]) })
		errs = append(errs, failed...)
	}
	return errors.Join(errs...)
}

// names names the first few, for sentences.
func names(list []string) string {
	const most = 5
	if len(list) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
	}
	return strings.Join(list, ", ")
}

// slowStart calls fn for each node, in batches that double as long as all goes well, and
// gives for how many it was called.
func (l *look) slowStart(nodes []string, fn func(*sim.Task, string) error) (tried int, err error) {
	for size := 1; tried < len(nodes) && err == nil; size = min(2*size, len(nodes)-tried) {
		errs := make([]error, size)
		l.Parallel(l.run.T, "create", size, func(t *sim.Task, i int) { errs[i] = fn(t, nodes[tried+i]) })
		tried, err = tried+size, errors.Join(errs...)
	}
	return tried, err
}

// createOn creates a pod that can run on one node only.
func (l *look) createOn(t *sim.Task, template corev1.PodTemplateSpec, node string) error {
	pod := pods.FromTemplate(&template, l.ds.Name, metav1.NewControllerRef(l.ds, client.DaemonSets.GVK()))
	pod.Spec.Affinity = util.ReplaceDaemonSetPodNodeNameNodeAffinity(pod.Spec.Affinity, node)
	made, err := client.Create(t, l.Client, client.Pods, l.ds.Namespace, pod)
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil // nothing can be created there any more: not worth an error
	case err != nil:
		l.expect.Created(l.run.Key)
		l.Events.Event(t, l.ds, corev1.EventTypeWarning, "FailedCreate", "Error creating: %v", err)
		return err
	}
	l.written.At(l.run.Key, l.pods, made)
	l.Events.Event(t, l.ds, corev1.EventTypeNormal, "SuccessfulCreate", "Created pod: %s", made.Name)
	return nil
}

func (l *look) deletePodNamed(t *sim.Task, name string) error {
	err := l.Client.Delete(t, client.Pods, l.ds.Namespace, name, metav1.DeleteOptions{})
	if err == nil {
		l.Events.Event(t, l.ds, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted pod: %s", name)
		return nil
	}
	l.expect.Deleted(l.run.Key, name) // the cache will show no deletion
	if apierrors.IsNotFound(err) {
		return nil
	}
	l.Events.Event(t, l.ds, corev1.EventTypeWarning, "FailedDelete", "Error deleting: %v", err)
	return fmt.Errorf("unable to delete pods: %w", err)
}
