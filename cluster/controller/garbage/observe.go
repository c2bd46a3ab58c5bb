package garbage

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// observe takes an object as it is now into the graph (graph_builder.go
// processGraphChanges).
func (c *Controller) observe(t *sim.Task, r client.Resource, old, obj runtime.Object) {
	m := obj.(metav1.Object)
	if was, ok := old.(metav1.Object); ok && old != nil && was.GetUID() != m.GetUID() {
		// Deleted and made again while nobody looked.
		c.vanished(t, old)
		old = nil
	}
	n := c.graph[m.GetUID()]
	switch {
	case n == nil:
		n = &node{id: idOf(r, m)}
		c.graph[m.GetUID()] = n
	case n.virtual:
		n.virtual = false
		c.correct(t, n, idOf(r, m))
	}
	added, removed, unblocked := changes(n.owners, m.GetOwnerReferences())
	n.owners = m.GetOwnerReferences()
	for _, ref := range removed {
		if o := c.graph[ref.UID]; o != nil {
			o.dropDependent(n)
		}
	}
	for _, ref := range unblocked {
		if o := c.graph[ref.UID]; o != nil {
			c.queue(t, o)
		}
	}
	for _, ref := range added {
		c.link(t, n, ref)
	}
	if m.GetDeletionTimestamp() != nil {
		n.beingDeleted = true
	}
	c.transition(t, n, old, m)
}

func idOf(r client.Resource, m metav1.Object) identity {
	return identity{r.GroupVersion().String(), r.Kind, m.GetNamespace(), m.GetName(), m.GetUID()}
}

// correct gives a node that was known from references only its real identity,
// and has those dependents looked at that believed otherwise.
func (c *Controller) correct(t *sim.Task, n *node, real identity) {
	if n.id == real {
		return
	}
	n.id = real
	n.each(func(d *node) bool {
		c.checkReference(t, d, n)
		return true
	})
}

// link enters the edge from a dependent to an owner. An owner not seen yet gets
// a virtual node, and the API server is asked about it.
func (c *Controller) link(t *sim.Task, n *node, ref metav1.OwnerReference) {
	o := c.graph[ref.UID]
	if o == nil {
		o = &node{id: c.referred(ref, n.id.namespace), virtual: true, asked: true}
		c.graph[ref.UID] = o
		o.addDependent(n)
		c.deletes.Add(t, o.id.key())
		return
	}
	o.addDependent(n)
	c.checkReference(t, n, o)
}

// checkReference has a dependent looked at whose reference does not describe
// the owner as it is: then it means another object, which may not exist.
func (c *Controller) checkReference(t *sim.Task, n, owner *node) {
	for _, ref := range n.owners {
		if ref.UID != owner.id.uid || c.referred(ref, n.id.namespace) == owner.id {
			continue
		}
		if owner.id.namespace != "" && owner.id.namespace != n.id.namespace && !owner.virtual {
			c.Events.EventRef(t, n.id.ref(), corev1.EventTypeWarning, "OwnerRefInvalidNamespace",
				"ownerRef [%s/%s, namespace: %s, name: %s, uid: %s] does not exist in namespace %q",
				ref.APIVersion, ref.Kind, n.id.namespace, ref.Name, ref.UID, n.id.namespace)
		}
		c.queue(t, n)
		return
	}
}

// transition starts what a deletion with one of the two finalizers asks for
// (processTransitions).
func (c *Controller) transition(t *sim.Task, n *node, old runtime.Object, m metav1.Object) {
	switch {
	case begins(old, m, metav1.FinalizerOrphanDependents):
		c.orphans.Add(t, n.id.key())
	case begins(old, m, metav1.FinalizerDeleteDependents):
		n.deletingDependents = true
		n.each(func(d *node) bool {
			c.queue(t, d)
			return true
		})
		c.queue(t, n)
	}
}

// begins reports whether the object now is being deleted with the finalizer,
// and was not before.
func begins(old runtime.Object, m metav1.Object, finalizer string) bool {
	waits := func(m metav1.Object) bool {
		return m.GetDeletionTimestamp() != nil && slices.Contains(m.GetFinalizers(), finalizer)
	}
	if !waits(m) {
		return false
	}
	was, ok := old.(metav1.Object)
	return !ok || !waits(was)
}

// vanished takes an object out of the graph: its dependents have lost an owner,
// its owners a dependent they may have waited for.
func (c *Controller) vanished(t *sim.Task, obj runtime.Object) {
	if n := c.graph[obj.(metav1.Object).GetUID()]; n != nil {
		c.remove(t, n)
	}
}

func (c *Controller) remove(t *sim.Task, n *node) {
	delete(c.graph, n.id.uid)
	for _, ref := range n.owners {
		if o := c.graph[ref.UID]; o != nil {
			o.dropDependent(n)
		}
	}
	if n.count() > 0 {
		c.absent.Add(n.id, true)
	}
	n.each(func(d *node) bool {
		c.queue(t, d)
		return true
	})
	for _, ref := range n.owners {
		if o := c.graph[ref.UID]; o != nil && o.deletingDependents {
			c.queue(t, o)
		}
	}
}

// queue has a node looked at.
func (c *Controller) queue(t *sim.Task, n *node) {
	n.asked = false
	c.deletes.Add(t, n.id.key())
}
