package pane

import (
	"slices"
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/keymap"
)

// List is what a pane embeds: what it says of itself and what its keys do. The
// cursor, the wheel and the mouse on the things it lists are the [Host]'s; enter
// opens the thing under the cursor unless the pane has something better to do.
type List struct {
	info Info
	acts map[string]Act
	view int // of info.Views, that is shown
}

// Act answers a key with the cursor on a subject.
type Act func(on Subject, f *Frame) action.Action

// NewList makes a list without keys.
func NewList(info Info) List { return List{info: info, acts: map[string]Act{}} }

// Key adds a key and what it does; nil leaves enter as it is for every list.
func (l *List) Key(b keymap.Binding, do Act) {
	l.info.Keys = append(l.info.Keys, b)
	if do != nil {
		l.acts[b.Action] = do
	}
}

// Views declares what the pane can show, the usual one first, and the key v that goes
// through them. label is what the key line says of it.
func (l *List) Views(action, label string, views ...View) {
	l.info.Views = views
	means := make([]string, len(views))
	for i, v := range views {
		means[i] = v.Means
	}
	l.Key(keymap.Bind(action, label, "The next view: "+strings.Join(means, "; ")+".", "v"), Then(func() { l.turn(1) }))
}

func (l *List) turn(by int) {
	n := len(l.info.Views)
	l.view = (l.view + by + n) % n
}

// View is the one that is shown.
func (l *List) View() View { return l.info.Views[l.view] }

// ShowView shows the view of a name.
func (l *List) ShowView(name string) {
	if i := slices.IndexFunc(l.info.Views, func(v View) bool { return v.Name == name }); i >= 0 {
		l.view = i
	}
}

// PreviousView shows the one before.
func (l *List) PreviousView() { l.turn(-1) }

// Info implements [Pane].
func (l *List) Info() Info { return l.info }

// Do implements [Pane].
func (l *List) Do(name string, on Subject, f *Frame) action.Action {
	if do, ok := l.acts[name]; ok {
		return do(on, f)
	}
	if name == keymap.Open {
		return on.Open()
	}
	return nil
}

// Open is what enter does with a thing: show the object that it is, else go to
// the event that made it so.
func (s Subject) Open() action.Action {
	switch {
	case s.Ref.Name != "":
		return action.Show{Ref: s.Ref}
	case !s.Event.IsZero():
		return action.Goto{ID: s.Event}
	}
	return nil
}

// Then runs a function that changes the pane's small state and has the pane
// drawn anew.
func Then(change func()) Act {
	return func(Subject, *Frame) action.Action {
		change()
		return action.Redraw{}
	}
}

// Turn goes through the values 0 to n-1 of a switch.
func Turn(at *int, n int) Act { return Then(func() { *at = (*at + 1) % n }) }

// Flip turns a switch over.
func Flip(on *bool) Act { return Then(func() { *on = !*on }) }

// NodeChoice is which node a pane shows: one that was chosen, or "" to follow.
type NodeChoice struct{ name string }

// Next chooses the node after the one that is shown.
func (c *NodeChoice) Next(now *view.Node, f *Frame) {
	all := f.S.Nodes()
	for i, n := range all {
		if n == now {
			c.name = all[(i+1)%len(all)].Name
		}
	}
}

// Follow gives the choice up.
func (c *NodeChoice) Follow() { c.name = "" }

// Of is the node to show: the chosen one, the first of those preferred that
// there is, or the first of all; nil while there is none.
func (c *NodeChoice) Of(f *Frame, preferred ...string) *view.Node {
	for _, name := range append([]string{c.name}, preferred...) {
		if n := f.S.Node(name); name != "" && n != nil {
			return n
		}
	}
	if all := f.S.Nodes(); len(all) > 0 {
		return all[0]
	}
	return nil
}

// Instance is the lane's instance of the present event if the event happened to
// one of these components (to any, if none is named).
func (f *Frame) Instance(components ...string) string {
	e := f.Event()
	if e == nil {
		return ""
	}
	for _, c := range components {
		if e.Lane.Component == c {
			return e.Lane.Instance
		}
	}
	if len(components) == 0 {
		return e.Lane.Instance
	}
	return ""
}

// OnNode is the subject of a node.
func OnNode(name string) Subject {
	return Subject{ID: "node/" + name, Node: name, Target: "node/" + name, Copy: name, Ref: trace.Ref{APIVersion: "v1", Kind: "Node", Name: name}}
}

// OnPod is the subject of a pod, "namespace/name".
func OnPod(key string) Subject {
	return Subject{ID: "pod/" + key, Pod: key, Target: "pod/" + key, Copy: key, Ref: PodRef(key)}
}
