package object

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// deleting reports whether an object is on its way out: it has a deletionTimestamp,
// and something still keeps it.
func deleting(o *view.Object) bool {
	m := o.Meta()
	return m != nil && !o.Deleted && m.GetDeletionTimestamp() != nil
}

// finalizers are what has to be taken off before the object may go; a namespace has
// one in its spec.
func finalizers(o *view.Object) []string {
	m := o.Meta()
	if m == nil {
		return nil
	}
	list := slices.Clone(m.GetFinalizers())
	if ns, ok := o.Value.(*corev1.Namespace); ok {
		for _, f := range ns.Spec.Finalizers {
			list = append(list, string(f))
		}
	}
	return list
}

// takers says who takes the finalizers off that Kubernetes itself puts on, and when.
var takers = map[string]string{
	metav1.FinalizerDeleteDependents:              "garbage collector, when no dependent that blocks is left",
	metav1.FinalizerOrphanDependents:              "garbage collector, when no dependent names it any more",
	"kubernetes":                                  "the namespace controller, when nothing is left in the namespace",
	"kubernetes.io/pvc-protection":                "its protection controller, when no pod uses the claim",
	"kubernetes.io/pv-protection":                 "its protection controller, when no claim is bound to it",
	"batch.kubernetes.io/job-tracking":            "the job controller, when it has counted the pod",
	"service.kubernetes.io/load-balancer-cleanup": "the service controller, when the load balancer is gone",
	"customresourcecleanup.apiextensions.k8s.io":  "the API server, when every custom object is gone",
}

// drawDeletion draws what still keeps an object that was asked to go, or would.
func drawDeletion(s *pane.Sheet, f *pane.Frame, y int, o *view.Object) int {
	m, list := o.Meta(), finalizers(o)
	if m == nil || o.Deleted {
		return y
	}
	switch {
	case deleting(o):
		y = s.Heading(y, "deletion", "marked, not gone: it goes when nothing keeps it")
		y = drawMark(s, f, y, o, m, len(list))
	case len(list) > 0:
		y = s.Heading(y, "finalizers", "a deletion waits until each is taken off")
	default:
		return y
	}
	for _, name := range list {
		who, known := takers[name]
		if !known {
			who = "whoever put it on, when it has tidied up"
		}
		s.Line(y, pane.Subject{
			ID: "finalizer/" + name, Event: o.Changed, Copy: name, Kind: trace.StoreCommit,
			Words: fmt.Sprintf("Finalizer %s is taken off by %s.", name, who),
		},
			grid.Span{Text: "  ⚑ " + name, Style: theme.Warn}, grid.Span{Text: " ← " + who, Style: theme.Muted})
		y++
	}
	return y
}

// drawMark draws when the deletion was asked for and how long it may take.
func drawMark(s *pane.Sheet, f *pane.Frame, y int, o *view.Object, m metav1.Object, guards int) int {
	due := m.GetDeletionTimestamp()
	spans := []grid.Span{{Text: "  deletionTimestamp ", Style: theme.Muted}, {Text: due.UTC().Format("15:04:05"), Style: theme.Number}}
	why := "its finalizers are still on"
	if grace := m.GetDeletionGracePeriodSeconds(); grace != nil {
		spans = append(spans, grid.Span{Text: fmt.Sprintf(", grace %d s", *grace), Style: theme.Number})
		if left := time.Duration(due.Sub(f.S.Run.Epoch) - f.S.At); *grace > 0 && left > 0 {
			spans = append(spans, grid.Span{Text: ", " + words.Dur(left) + " left", Style: theme.Warn})
		}
	}
	if guards == 0 {
		why = "its kubelet has to end its containers and say so"
		if _, pod := o.Value.(*corev1.Pod); !pod {
			why = "somebody has to write it once more"
		}
	}
	s.Line(y, pane.Subject{ID: "deletion", Event: o.Changed, Kind: trace.StoreCommit, Words: o.Ref.String() + " is to go, and is there still: " + why + "."}, spans...)
	return y + 1
}

// drawOwners draws the owner references themselves, where there is more to say of
// them than the tree does: several owners, one that is gone, one that waits.
func drawOwners(s *pane.Sheet, f *pane.Frame, y int, o *view.Object) int {
	m := o.Meta()
	if m == nil || len(m.GetOwnerReferences()) == 0 {
		return y
	}
	y = s.Heading(y, "ownerReferences", "by uid; when all of them are gone, so is this")
	for _, r := range m.GetOwnerReferences() {
		var marks []string
		if r.Controller != nil && *r.Controller {
			marks = append(marks, "controller")
		}
		if r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion {
			marks = append(marks, "blockOwnerDeletion")
		}
		state, st := "", theme.Muted
		up := f.S.ObjectByUID(string(r.UID))
		switch {
		case up == nil:
			state, st = "✗ no such owner", theme.Bad
		case up.Namespace() != "" && up.Namespace() != o.Namespace():
			state, st = "✗ in another namespace: counts as gone", theme.Bad
		case deleting(up) && slices.Contains(finalizers(up), metav1.FinalizerDeleteDependents):
			state, st = "† waits for its dependents", theme.Warn
		case deleting(up):
			state, st = "† deleting", theme.Warn
		}
		on := pane.Subject{ID: "ref/" + string(r.UID), Copy: string(r.UID), Words: fmt.Sprintf("%s %s, uid %s: %s %s.", r.Kind, r.Name, r.UID, strings.Join(marks, ", "), state)}
		if up != nil {
			on.Ref, on.Event = up.Ref, up.Changed
		}
		s.Line(y, on, grid.Span{Text: "  ↑ ", Style: theme.Line}, grid.Span{Text: r.Kind + " ", Style: theme.Muted}, grid.Span{Text: r.Name + " ", Style: theme.Name},
			grid.Span{Text: state + " ", Style: st}, grid.Span{Text: strings.Join(marks, ", "), Style: theme.Muted})
		y++
	}
	return y
}
