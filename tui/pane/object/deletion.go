package object

import (
	"fmt"
	"path"
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

// drawDeletion draws what still keeps an object that was asked to go, or would.
func drawDeletion(s *pane.Sheet, f *pane.Frame, y int, o *view.Object) int {
	m, list := o.Meta(), o.Finalizers()
	if m == nil || o.Deleted {
		return y
	}
	switch {
	case o.Deleting():
		y = s.Heading(y, "deletion", "marked, not gone: it goes when nothing keeps it")
		y = drawMark(s, f, y, o, m, len(list))
	case len(list) > 0:
		y = s.Heading(y, "finalizers", "a deletion waits until each is taken off")
	default:
		return y
	}
	for _, name := range list {
		who := view.TakerOf(name)
		s.Line(y, pane.Subject{
			ID: "finalizer/" + name, Event: o.Changed, Copy: name, Kind: trace.StoreCommit,
			Words: fmt.Sprintf("Finalizer %s is taken off by %s.", name, who),
		},
			grid.Span{Text: "  ⚑ " + name, Style: theme.Warn}, grid.Span{Text: " ← " + who, Style: theme.Muted})
		y++
	}
	return drawKeepers(s, f, y, o)
}

// drawKeepers draws what keeps a namespace: each condition that says so, and below it
// what it comes from.
func drawKeepers(s *pane.Sheet, f *pane.Frame, y int, o *view.Object) int {
	list := f.S.KeepersOf(o)
	if len(list) == 0 {
		return y
	}
	y = s.Heading(y, "what keeps it", words.Count(len(f.S.ContentOf(o.Name())), "object")+" left in it")
	return drawList(s, f, y, list)
}

// drawAvailability draws what the availability of an APIService comes from.
func drawAvailability(s *pane.Sheet, f *pane.Frame, y int, o *view.Object) int {
	list, ok := f.S.Availability(o)
	if !ok || o.Deleted {
		return y
	}
	return drawList(s, f, s.Heading(y, "availability", "while it is not Available, nothing is sent to its Service: 503"), list)
}

// mostKeepers is how many things that keep an object are drawn below one condition.
const mostKeepers = 8

func drawList(s *pane.Sheet, f *pane.Frame, y int, list []view.Keeper) int {
	below, ids := map[string]int{}, map[string]bool{}
	for _, k := range list {
		below[k.Of]++
		if n := below[k.Of]; k.Of != "" && n > mostKeepers {
			continue // they are counted in the condition
		}
		mark, st, lead := "✗ ", theme.Bad, "  "
		if k.Good {
			mark, st = "✓ ", theme.Good
		}
		if k.Of != "" {
			mark, st, lead = "← ", theme.Warn, "    "
		}
		if f.Fresh(k.Event) {
			st |= grid.Fresh
		}
		id := "keeper/" + path.Join(k.Of, k.What) // its reason may change every second
		if ids[id] {
			id += "/" + k.Why
		}
		ids[id] = true
		on := pane.Subject{ID: id, Ref: k.Ref, Event: k.Event, Words: k.What + ": " + k.Why + "."}
		s.Line(y, on, grid.Span{Text: lead + mark, Style: st}, grid.Span{Text: k.What + "  ", Style: theme.Name}, grid.Span{Text: k.Why, Style: theme.Muted})
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
		case up.Deleting() && slices.Contains(up.Finalizers(), metav1.FinalizerDeleteDependents):
			state, st = "† waits for its dependents", theme.Warn
		case up.Deleting():
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
