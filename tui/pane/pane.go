// Package pane is what the explorer's panes have in common. A pane is a fold of
// the trace made visible: it draws an immutable [view.State] on a [Sheet] and
// names what lies where ([Sheet.Hot]), and that is all. Scrolling, the cursor,
// the mouse and redrawing are the [Host]'s, the same for all panes.
//
// Start reading at [Pane], then any of the packages below this one.
package pane

import (
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/keymap"
	"kviz/tui/motion"
	"kviz/tui/trail"
)

// Info describes a pane.
type Info struct {
	Name   string // one word: "map"
	Title  string // for the frame: "Cluster"
	Means  string // a paragraph for the help
	Legend [][2]string
	Keys   []keymap.Binding // the pane's own keys
	Views  []View           // what v goes through; none: the pane shows one thing
	Kinds  []string         // of what can be pointed at on it: "member" of member/a; objects of the API, kind/namespace/name, are not among them
	Tabs   bool             // it draws the tabs of its views itself, instead of in its frame
}

// View is one of several things that a pane can show.
type View struct {
	Name  string // one word: "yaml"
	Means string // one line: "the object as it is stored"
	Draw  func(s *Sheet, f *Frame)
	Note  func(f *Frame) string // as [Pane] has it; nil: nothing of its own
}

// Pane is one view of the state.
type Pane interface {
	Info() Info
	// Note is a few words for the frame's title: "3 nodes, 12 pods".
	Note(f *Frame) string
	// Draw draws the state. It must depend on nothing but the frame and the
	// pane's own small state.
	Draw(s *Sheet, f *Frame)
	// Do answers one of the pane's own actions, or [keymap.Open], with the
	// cursor on a subject. It may change the pane's own state.
	Do(name string, on Subject, f *Frame) action.Action
}

// Maker makes a pane. The list of all makers, in the order of the panes, is package
// panes; keys, tabs, layouts, help, glossary, lessons and golden frames are made from it.
type Maker func() Pane

// Make is the maker of a kind of pane.
func Make[P Pane](new func() P) Maker { return func() Pane { return new() } }

// Shower is a pane that shows the object that it is asked for.
type Shower interface{ Show(ref trace.Ref) }

// Mover is a pane that moves its cursor itself (a list too long to draw whole).
type Mover interface {
	Move(dx, dy int, f *Frame) bool
}

// Pointer is a pane that keeps its cursor itself. At is the ID of the subject
// under it after a drawing; Select is called on a click.
type Pointer interface {
	At() string
	Select(on Subject, f *Frame)
}

// Toucher is a pane in which a click finds more than what the cursor goes through: the lines of
// a picture. Touch is the ID of what lies at a place of the window, "" for nothing; the pane
// draws that as a thing from then on.
type Toucher interface {
	Touch(x, y int, f *Frame) string
}

// Prompter is a pane some of whose keys are there for certain things: they are first in the
// key line while the cursor is on one.
type Prompter interface {
	// For are the actions for a subject.
	For(on Subject) []string
}

// Moving is a pane on which some of what moves can be seen: a number that changes with it, 0
// while nothing of it moves. A [Filler] has all of it.
type Moving interface {
	Moves(f *Frame) uint64
}

// Filler is a pane that may fill its whole window, from border to border: it does not
// scroll then.
type Filler interface {
	Fills(w, rows int) bool
}

// Frame is what there is to draw.
type Frame struct {
	S       *view.State
	H       *view.History
	Motion  *motion.Shot // what moves; nil where nothing can
	Path    *trail.Walk  // of the person's newest command; nil for none
	W, Rows int          // size of the window
	Run     string       // whose state it is, where two runs are shown; "" where there is one
	Focused bool
	Live    bool    // S is the newest state
	Stage   bool    // it stands on a lesson's stage: room is left around what can be pointed at
	Filter  string  // "" shows all; "!x" what does not contain x
	Cursor  string  // ID of the subject under this pane's cursor
	Placed  bool    // somebody has put the cursor there
	Sel     Subject // what is under the cursor of the pane that has the focus, if that is another
}

// Event is the event the state is at, or nil.
func (f *Frame) Event() *trace.Event { return f.S.Event }

// Fresh reports whether the event is the one just reached.
func (f *Frame) Fresh(id trace.ID) bool { return !id.IsZero() && id == f.S.Last }

// Match reports whether the filter lets a thing with these words through.
func (f *Frame) Match(words ...string) bool { return Match(f.Filter, words...) }

// Match reports whether a filter lets a thing with these words through: every
// word of the filter must be in one of them; a filter that begins with "!" is
// turned round.
func Match(filter string, words ...string) bool {
	want, not := strings.CutPrefix(filter, "!")
	if strings.TrimSpace(want) == "" {
		return true
	}
	for _, w := range strings.Fields(strings.ToLower(want)) {
		found := false
		for _, in := range words {
			if strings.Contains(strings.ToLower(in), w) {
				found = true
				break
			}
		}
		if !found {
			return not
		}
	}
	return !not
}

// Subject is a thing on the screen that the cursor can be on.
type Subject struct {
	ID     string     // stable while things move; unique in the pane
	Ref    trace.Ref  // the API object it is or belongs to
	Event  trace.ID   // the event that made it so: what "why?" starts from
	Target string     // what a fault would hit: "member/a"
	Node   string     // the node it is on or is
	Pod    string     // namespace/name
	Kind   trace.Kind // for the glossary
	Words  string     // a sentence for the explanation line
	Copy   string     // for the clipboard; Words or the name if empty
	Value  any        // the pane's own
}

// IsZero reports whether there is nothing.
func (s Subject) IsZero() bool { return s.ID == "" }

// Slowness is what the store pane can be asked to do: to show the chart of how slowness
// climbs from the disks to the work queues.
const Slowness = "store.slowness"

// Members is what the store pane can be asked to do: to show a view that has all members in
// it, if the one it shows has not.
const Members = "store.members"

// Requests and Watches are what the API pane can be asked to do: to show that view.
const (
	Requests = "api.requests"
	Watches  = "api.watches"
)

// Abbreviate is the name of a part without what all of them share: "deployment" of deployment-controller, "controllers" of the
// process that runs them.
func Abbreviate(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "controller-manager", "controllers"), "-controller", "")
}

// PodRef is the reference of a pod, "namespace/name".
func PodRef(key string) trace.Ref {
	ns, name, ok := strings.Cut(key, "/")
	if !ok {
		ns, name = "", key
	}
	return trace.Ref{APIVersion: "v1", Kind: "Pod", Namespace: ns, Name: name}
}
