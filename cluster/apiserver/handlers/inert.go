package handlers

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/sim"
)

// Inert knows what of a write nothing in the cluster acts on.
type Inert interface {
	// Warnings are sentences for the writer of obj, which was old before (nil for a new
	// object): on what nothing acts, and what is assumed besides. The subresource is
	// "pods/resize", or "".
	Warnings(gk schema.GroupKind, subresource string, obj, old runtime.Object) (inert, assumed []string)
	// Whole reports whether nothing acts on a kind as a whole.
	Whole(gk schema.GroupKind) bool
	// Note tells on what of an object nothing acts those who did not write it.
	Note(t *sim.Task, obj runtime.Object, says []string)
}

// warnComponent notes of what a controller creates whether nothing acts on its kind at all: a
// StatefulSet's claims, say, which no person writes.
func (h *Handlers) warnComponent(c *Call, j judged) {
	if h.Inert == nil || j.kind.Custom != nil || j.old != nil || j.asked != "" || !h.Inert.Whole(j.kind.GroupKind()) || !slices.Contains(c.User.Groups, authn.ServiceAccounts) {
		return
	}
	c.inert, _ = h.Inert.Warnings(j.kind.GroupKind(), "", j.obj, nil)
}

// noteInert notes on what of an object nothing acts, once it is written. What belongs to a controller is noted on
// the object that the controller made it of, and of a kind on which nothing acts only that it was created.
func (h *Handlers) noteInert(c *Call, obj, old runtime.Object) {
	if len(c.inert) == 0 || c.Req.DryRun {
		return
	}
	m := object.Meta(obj)
	whole := h.Inert.Whole(c.Kind.GroupKind())
	switch {
	case m.GetDeletionTimestamp() != nil:
	case c.Req.Subresource == "" && (metav1.GetControllerOfNoCopy(m) != nil || old != nil && whole):
	default:
		h.Inert.Note(c.Ask(), obj, c.inert)
	}
}
