package menu

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/keymap"
	"kviz/tui/overlay"
	"kviz/tui/pane"
	"kviz/tui/timeline"
)

// mostObjects bounds the list, which is searched again with every letter.
const mostObjects = 5000

// Jump lists what there is to go to: the panes, the members of the store, every object
// except Kubernetes Events (the user's own first), and the marks of the timeline. A few
// letters find it.
func Jump(panes []pane.Info, s *view.State, marks []timeline.Mark, stream *trace.Stream) overlay.Overlay {
	p := &overlay.Picker{Title: "Jump to", Search: true}
	for i, info := range panes {
		p.Items = append(p.Items, overlay.Item{
			Label: overlay.Padded(keymap.PaneKey(i), 1) + " " + info.Title, Note: overlay.FirstSentence(info.Means), Do: action.Focus{Pane: info.Name},
		})
	}
	p.Items = append(p.Items, overlay.Item{Label: "Console", Key: ":", Do: action.Key(keymap.Console)})
	for _, m := range s.Store.Members() {
		role := m.Role
		if !m.Up {
			role = "down"
		}
		p.Items = append(p.Items, overlay.Item{Label: "member " + m.Name, Note: role, Do: action.Focus{Pane: "store", Do: pane.Members, On: "member/" + m.Name}})
	}
	p.Items = append(p.Items, objects(s)...)
	for _, k := range marks {
		if e := stream.Get(k.Pos); e != nil {
			p.Items = append(p.Items, overlay.Item{Label: string(k.Glyph) + " #" + e.ID.String(), Note: k.Words, Style: k.Style, Do: action.Goto{ID: e.ID}})
		}
	}
	return p
}

// objects are the objects, each with what leads to it; those of the system's namespaces last.
func objects(s *view.State) []overlay.Item {
	var own, system []overlay.Item
	for _, resource := range slices.Sorted(maps.Keys(s.Resources())) {
		if resource == "events" {
			continue
		}
		s.EachObject(resource, "", func(o *view.Object) bool {
			it := overlay.Item{Label: strings.ToLower(o.Ref.Kind) + " " + o.Ref.Key(), Note: status(o), Do: action.Show{Ref: o.Ref}}
			if workload(o) {
				own = append(own, it)
			} else {
				system = append(system, it)
			}
			return len(own)+len(system) < mostObjects
		})
	}
	return append(own, system...)
}

// workload reports whether an object is what people look for first: a node, or something in
// a namespace of theirs that its controller did not make beside it.
func workload(o *view.Object) bool {
	switch o.Resource {
	case "nodes":
		return true
	case "leases", "serviceaccounts", "endpoints", "configmaps":
		return false
	}
	return o.Ref.Namespace != "" && !strings.HasPrefix(o.Ref.Namespace, "kube-")
}

// status is in a word how an object is, where its kind has such a word.
func status(o *view.Object) string {
	if p, ok := o.Value.(*corev1.Pod); ok {
		return strings.TrimSpace(string(p.Status.Phase) + " " + p.Spec.NodeName)
	}
	return ""
}
