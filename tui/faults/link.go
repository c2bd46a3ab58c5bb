package faults

import (
	"fmt"
	"slices"
	"strings"

	"kviz/cluster/control"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/overlay"
	"kviz/tui/theme"
)

// ends are the members between which a link is that is under the cursor: "link/a-b".
func ends(target string) (a, b string, ok bool) {
	name, ok := strings.CutPrefix(target, "link/")
	if !ok {
		return "", "", false
	}
	return strings.Cut(name, "-")
}

// Between is the menu of the link of two members: what mends it first, then what breaks it.
func (m Menu) Between(a, b string) overlay.Overlay {
	p := &overlay.Picker{Title: fmt.Sprintf("Break or mend the link between %s and %s", a, b)}
	p.Items = m.mendings(a, b)
	for i := range p.Items {
		p.Items[i].Style = theme.Good
	}
	severed := m.State.Link(a, b) == view.Severed && m.State.Link(b, a) == view.Severed
	for _, f := range m.Cluster.Faults() {
		for _, w := range f.Ways {
			if f.Target != "member" || w.Link == "" || f.Repairs || severed && f.Name == "cut" {
				continue
			}
			say := w.Link
			if strings.Contains(say, "%") {
				say = fmt.Sprintf(say, a, b)
			}
			do := control.Fault{Name: f.Name, Target: "member/" + a, Args: append([]string{b}, w.Args...)}
			p.Items = append(p.Items, overlay.Item{Label: say, Key: line(do), Detail: f.Means, Do: action.Fault{Fault: do}})
		}
	}
	for _, name := range []string{a, b} {
		t := "member/" + name
		p.Items = append(p.Items, overlay.Item{Label: "The whole of " + Target(t) + " …", Style: theme.Muted, Do: action.FaultsOf{Target: t}})
	}
	p.Items = append(p.Items, overlay.Item{Label: "Something else …", Style: theme.Muted, Do: action.Targets})
	return p
}

// mendings are what mends a link: it alone first, at whichever end it was broken; then, in the way in which it
// was broken, a whole end of it, or the store.
func (m Menu) mendings(a, b string) (items []overlay.Item) {
	mend := func(target, say string, args ...string) {
		do := control.Fault{Name: "heal", Target: target, Args: args}
		items = append(items, overlay.Item{Label: say, Key: line(do), Do: action.Fault{Fault: do}})
	}
	if m.impaired(a, b) {
		mend("member/"+a, "Mend this link only", b)
	}
	for _, end := range [][2]string{{a, b}, {b, a}} {
		t := "member/" + end[0]
		if slices.ContainsFunc(m.State.FaultsOn(t), func(f *view.Fault) bool { return m.concerns(f, end[0], end[1]) }) {
			mend(t, "Mend the links of member "+end[0]+" and its disk")
		}
	}
	if slices.ContainsFunc(m.State.FaultsOn("store"), func(f *view.Fault) bool { return f.Fault.Fault == "partition" }) {
		mend("store", "Mend every link and every disk")
	}
	return items
}

// impaired reports whether something is wrong with the link of two members.
func (m Menu) impaired(a, b string) bool {
	return m.State.Link(a, b) != view.Sound || m.State.Link(b, a) != view.Sound
}

// concerns reports whether a fault of a member is one of its link with another: of that one, or of all.
func (m Menu) concerns(f *view.Fault, member, peer string) bool {
	if f.MendedOn(member, peer) {
		return false
	}
	named := strings.FieldsFunc(f.Detail, func(r rune) bool { return r == ',' || r == ' ' })
	for _, k := range m.Cluster.Faults() {
		for _, w := range k.Ways {
			if k.Target == "member" && k.Name == f.Fault.Fault && w.Link != "" {
				return len(named) == 0 || slices.Contains(named, peer)
			}
		}
	}
	return false
}
