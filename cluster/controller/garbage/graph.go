package garbage

import (
	"strings"

	"github.com/tidwall/btree"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/trace"
)

// identity is which object a node of the graph stands for.
type identity struct {
	apiVersion, kind, namespace, name string
	uid                               types.UID
}

func (id identity) ref() trace.Ref {
	return trace.Ref{APIVersion: id.apiVersion, Kind: id.kind, Namespace: id.namespace, Name: id.name, UID: string(id.uid)}
}

// String is "Pod demo/web-1".
func (id identity) String() string { return id.ref().String() }

// key is the identity in a work queue: what a person reads, and the UID.
func (id identity) key() string { return id.String() + " " + string(id.uid) }

func uidOf(key string) types.UID { return types.UID(key[strings.LastIndexByte(key, ' ')+1:]) }

// referred is the identity that an owner reference of an object in namespace
// claims for the owner.
func (c *Controller) referred(ref metav1.OwnerReference, namespace string) identity {
	if r, ok := c.resourceOf(ref.APIVersion, ref.Kind); ok && !r.Namespaced {
		namespace = ""
	}
	return identity{ref.APIVersion, ref.Kind, namespace, ref.Name, ref.UID}
}

// node is one object in the graph of owners and dependents (graph.go node).
type node struct {
	id     identity
	owners []metav1.OwnerReference
	// dependents are the nodes that name this one as an owner, by key; nil
	// until there is one.
	dependents *btree.Map[string, *node]

	// virtual: known only from the references of its dependents; it may never
	// have existed, or not have been seen yet.
	virtual bool
	// asked: queued only because it is virtual.
	asked              bool
	beingDeleted       bool
	deletingDependents bool // deleted in the foreground: waits for its dependents
}

func (n *node) addDependent(d *node) {
	if n.dependents == nil {
		n.dependents = btree.NewMap[string, *node](16)
	}
	n.dependents.Set(d.id.key(), d)
}

func (n *node) dropDependent(d *node) {
	if n.dependents != nil {
		n.dependents.Delete(d.id.key())
	}
}

// each calls fn for every dependent, in order, until it gives false.
func (n *node) each(fn func(*node) bool) {
	if n.dependents != nil {
		n.dependents.Scan(func(_ string, d *node) bool { return fn(d) })
	}
}

func (n *node) count() int {
	if n.dependents == nil {
		return 0
	}
	return n.dependents.Len()
}

// blocks reports whether the dependent holds up a foreground deletion of owner.
func (n *node) blocks(owner types.UID) bool {
	for _, ref := range n.owners {
		if ref.UID == owner && isTrue(ref.BlockOwnerDeletion) {
			return true
		}
	}
	return false
}

func isTrue(b *bool) bool { return b != nil && *b }

// changes compares two lists of owner references: which owners are new, which
// are no longer named, which are no longer blocked by this dependent.
func changes(old, new []metav1.OwnerReference) (added, removed, unblocked []metav1.OwnerReference) {
	find := func(refs []metav1.OwnerReference, uid types.UID) *metav1.OwnerReference {
		for i := range refs {
			if refs[i].UID == uid {
				return &refs[i]
			}
		}
		return nil
	}
	for _, ref := range new {
		was := find(old, ref.UID)
		switch {
		case was == nil:
			added = append(added, ref)
		case isTrue(was.BlockOwnerDeletion) && !isTrue(ref.BlockOwnerDeletion):
			unblocked = append(unblocked, ref)
		}
	}
	for _, ref := range old {
		if find(new, ref.UID) == nil {
			removed = append(removed, ref)
			if isTrue(ref.BlockOwnerDeletion) {
				unblocked = append(unblocked, ref)
			}
		}
	}
	return added, removed, unblocked
}
