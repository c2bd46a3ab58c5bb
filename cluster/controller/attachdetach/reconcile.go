package attachdetach

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
)

// sync brings the attachments of one volume nearer to what its pods want (reconciler.reconcile).
// Detaches come first, so that a volume whose pod has moved leaves the one node before it comes
// to the other.
func (c *Controller) sync(run *reconcile.Run) error {
	volume := name(run.Key)
	c.loop.Cancel(run.Key) // what is due is found again
	run.Look(len(c.actual.nodesOf(volume)) + len(c.desired.nodesOf(volume)))
	c.verify(volume)
	for _, op := range slices.Clone(c.operations[volume]) {
		if op.pending {
			c.settle(run, volume, op)
		}
	}
	var errs []error
	for _, node := range c.actual.nodesOf(volume) {
		if !c.desired.wants(volume, node) {
			errs = append(errs, c.detach(run, volume, node))
		}
	}
	for _, node := range c.inTurn(volume) {
		if w := c.desired.volumes[volume][node]; w != nil {
			c.attach(run, volume, node, w)
		}
	}
	errs = append(errs, c.writeAll(run))
	c.forget(volume)
	return errors.Join(errs...)
}

// inTurn are the nodes on which a volume is wanted. If only one can have it and the last try
// failed, the one after that node comes first: a node that always fails must not keep the others
// out (upstream goes through a map).
func (c *Controller) inTurn(volume name) []string {
	nodes := c.desired.nodesOf(volume)
	op := c.operations.find(volume, "")
	if op == nil || op.key != "" || op.pending || len(nodes) < 2 {
		return nodes
	}
	i, found := slices.BinarySearch(nodes, op.node)
	if found {
		i++
	}
	return slices.Concat(nodes[i:], nodes[:i])
}

// verify notes the attachments that somebody has taken away (GenerateVolumesAreAttachedFunc, which
// upstream does every minute for all).
func (c *Controller) verify(volume name) {
	pv := c.actual.volume(volume)
	if pv == nil || !c.attaches(pv) {
		return // which volume it is will be known when somebody wants it; else it is detached
	}
	for _, node := range c.actual.confirmed(volume) {
		if op := c.operations.find(volume, keyOf(pv, node)); op != nil && op.pending {
			continue // it looks for itself
		}
		if va := c.attachment(volume, node); va == nil || !va.Status.Attached {
			c.markDetached(volume, node)
		}
	}
}

// detach has a volume leave a node where it is not wanted, once it is not mounted there or need
// not be waited for.
func (c *Controller) detach(run *reconcile.Run, volume name, node string) error {
	now := run.T.Now()
	key := keyOf(c.actual.volume(volume), node)
	switch op := c.operations.find(volume, key); {
	case op == nil:
	case op.pending:
		return nil
	case op.backoff(detach, now) > 0:
		c.waitOut(run, volume, op, detach)
		return nil
	}
	a := c.actual.of(volume, node)
	if a == nil {
		return nil
	}
	if _, _, ok := volume.split(); !ok {
		run.Waits("volume %s is of no CSI driver, and only their volumes are detached here", c.called(volume))
		return nil
	}
	if a.detachSince.IsZero() {
		a.detachSince = now
	}
	waited := now.Sub(a.detachSince)
	expired := waited > MaxWaitForUnmount
	healthy, out := c.health(node)
	mounted := c.actual.inUse[node][volume]
	if mounted && (healthy || !expired) && !out {
		if !expired {
			run.Again(MaxWaitForUnmount - waited + time.Millisecond)
		}
		run.Waits("%s", c.mountedStill(volume, node, healthy, waited))
		return nil
	}
	why := fmt.Sprintf("no pod wants volume %s on node %s", c.called(volume), node)
	// The kubelet must not begin to mount what is about to go.
	c.reports.remove(volume, node)
	if err := c.write(run, node, why+", and it is about to be detached"); err != nil {
		c.reports.add(volume, node)
		return err
	}
	verifySafe := false
	switch {
	case out:
		why += ", and the node is tainted " + corev1.TaintNodeOutOfService + ", so it need not be asked"
	case mounted:
		why += fmt.Sprintf(", and the node, which is not ready, has not unmounted it for %s, more than %s", waited.Round(time.Millisecond), MaxWaitForUnmount)
	default:
		verifySafe = !expired
		why += ", and it is not mounted there"
	}
	op := c.operations.start(volume, key, detach, node)
	if err := c.beginDetach(run, volume, op, verifySafe, why); err != nil {
		c.detached(run, volume, op, err)
	}
	return nil
}

// health is whether a node says that it is ready, and whether a person has said that it is off;
// of one that is gone neither holds.
func (c *Controller) health(node string) (healthy, out bool) {
	obj, ok := c.nodes.Get(node)
	if !ok {
		return false, false
	}
	return ready(obj.(*corev1.Node)), outOfService(obj.(*corev1.Node))
}

func (c *Controller) mountedStill(volume name, node string, healthy bool, waited time.Duration) string {
	s := fmt.Sprintf("no pod wants volume %s on node %s, but it is mounted there still, as the node's status.volumesInUse says", c.called(volume), node)
	if healthy {
		return s + ": its kubelet unmounts it first"
	}
	return s + fmt.Sprintf(", and the node is not ready: of the %s that this may last, %s are over", MaxWaitForUnmount, waited.Round(time.Second))
}

// waitOut has an operation that failed tried again when its back-off is over.
func (c *Controller) waitOut(run *reconcile.Run, volume name, op *operation, v verb) {
	left := op.backoff(v, run.T.Now())
	run.Again(left)
	does := "attached to"
	if v == detach {
		does = "detached from"
	}
	run.Waits("volume %s could not be %s node %s (%v); the next try is in %s", c.called(volume), does, op.node, op.err, left.Round(time.Millisecond))
}

// attach has a volume attached to a node where pods want it (attachDesiredVolumes).
func (c *Controller) attach(run *reconcile.Run, volume name, node string, w *wanted) {
	key := keyOf(w.volume, node)
	op := c.operations.find(volume, key)
	if op != nil && op.pending {
		if op.verb == detach {
			run.Waits("volume %s is being detached from node %s, and is attached to node %s after that", c.called(volume), op.node, node)
		}
		return
	}
	if a := c.actual.of(volume, node); a != nil && a.confirmed {
		a.detachSince = time.Time{}
		return
	}
	if at := c.actual.confirmed(volume); exclusive(w.volume) && len(at) > 0 {
		if !w.told {
			c.tellMultiAttach(run, volume, w, at)
			w.told = true
		}
		run.Waits("volume %s is attached to node %s, and to one node at a time only (%s): it has to be detached there before it is attached to node %s",
			c.called(volume), strings.Join(at, ", "), w.volume.Spec.AccessModes[0], node)
		return
	}
	if op.backoff(attach, run.T.Now()) > 0 {
		c.waitOut(run, volume, op, attach)
		return
	}
	op = c.operations.start(volume, key, attach, node)
	op.volume, op.pods = w.volume, w.sorted()
	if err := c.beginAttach(run, volume, op); err != nil {
		c.attached(run, volume, op, err)
		c.waitOut(run, volume, op, attach)
	}
}

// tellMultiAttach tells pods that another node has their volume (reportMultiAttachError).
func (c *Controller) tellMultiAttach(run *reconcile.Run, volume name, w *wanted, at []string) {
	tell := func(pod *corev1.Pod, what string) {
		c.Events.Event(run.T, pod, corev1.EventTypeWarning, "FailedAttachVolume", "%s", message("Waiting for detach", w.volume, what))
	}
	users := c.desired.podsOn(volume, at)
	for _, pod := range w.sorted() {
		if len(users) == 0 {
			tell(pod, "Volume is already exclusively attached to one node, waiting on detach before it can be attached to another node")
			continue
		}
		// Nobody is to read names of pods of other namespaces.
		var here []string
		for _, user := range users {
			if user.Namespace == pod.Namespace {
				here = append(here, user.Name)
			}
		}
		switch elsewhere := len(users) - len(here); {
		case len(here) == 0:
			tell(pod, fmt.Sprintf("Volume is already used by %d pod(s) in different namespaces", elsewhere))
		case elsewhere > 0:
			tell(pod, fmt.Sprintf("Volume is already used by pod(s) %s and %d pod(s) in different namespaces", strings.Join(here, ", "), elsewhere))
		default:
			tell(pod, "Volume is already used by pod(s) "+strings.Join(here, ", "))
		}
	}
}

// message is what Events say of a volume (VolumeToAttach.GenerateMsg).
func message(prefix string, pv *corev1.PersistentVolume, suffix string) string {
	return fmt.Sprintf("%v for volume %q %v", prefix, pv.Name, suffix)
}

// stillInUse asks the API server itself whether a node uses a volume (verifyVolumeIsSafeToDetach).
func (c *Controller) stillInUse(run *reconcile.Run, volume name, node string) error {
	live, err := client.Get[*corev1.Node](run.T, c.Client, client.Nodes, "", node)
	if apierrors.IsNotFound(err) {
		return nil
	}
	said := func(cause error) error {
		called := "nil"
		if pv := c.actual.volume(volume); pv != nil {
			called = pv.Name
		}
		return fmt.Errorf("DetachVolume failed for volume %q (UniqueName: %q) on node %q : %w", called, string(volume), node, cause)
	}
	if err != nil {
		return said(err)
	}
	for _, v := range live.Status.VolumesInUse {
		if name(v) == volume {
			return said(errors.New("volume is still in use by node, according to Node status"))
		}
	}
	return nil
}
