package object

import (
	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/belief"
	"kviz/tui/pane"
	"kviz/tui/theme"
)

// drawBelief draws where the object is not as it is said to be: a pod or node that does something
// else than is stored of it, and clients whose caches have the object otherwise than the store.
func drawBelief(s *pane.Sheet, f *pane.Frame, y int, o *view.Object) int {
	switch v := o.Value.(type) {
	case *corev1.Pod:
		y = belief.OfPod(f.S, v).Draw(s, y)
	case *corev1.Node:
		y = belief.OfNode(f.S, v.Name).Draw(s, y)
	}
	for _, w := range f.S.Watchers() {
		held, lost := untold(w.Held(), o.Ref), []view.Stale(nil)
		if i := f.S.Informer(w.Client, w.Resource); i != nil {
			lost = untold(i.Stale(), o.Ref)
		}
		if len(held)+len(lost) == 0 {
			continue
		}
		s.Row(y).Text(0, 0, "! the cache of "+w.Client+" has it otherwise than the store", theme.Warn)
		y = pane.Unknown(s, f, y+1, "belief/"+w.Client, w.Target(), held, lost)
	}
	return y
}

// untold are those of some unknown events that are of an object.
func untold(all []view.Stale, ref trace.Ref) (of []view.Stale) {
	for _, x := range all {
		if x.Object.Kind == ref.Kind && x.Object.Key() == ref.Key() {
			of = append(of, x)
		}
	}
	return of
}
