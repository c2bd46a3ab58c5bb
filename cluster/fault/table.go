package fault

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"kviz/cluster/control"
	"kviz/cluster/trace"
)

// Row is one thing that can be done to targets of one kind: what it is called and means,
// how it is done and what it undoes. The table of all rows is the only place that knows a
// fault.
type Row struct {
	Name  string // "stop"
	Heals string // the fault that mends it; "" where it mends itself
	Means string // what it does, in a sentence or two
	Args  string // how further words are used: "PEER", "[REVISION]"; "" for none
	Ways  []control.FaultWay
	// Repairs says that it makes the target whole, or leaves it whole.
	Repairs bool
	// Remedy says that it makes whole what no other fault's end does, and is offered first.
	Remedy bool
	// As are other repairs of the same target whose work it does too.
	As []string
	// Replaces says that nothing is left of what was done to the target before.
	Replaces bool
	// Passing says that it is over as soon as it has happened.
	Passing bool
	// Knob says that it is set again where it is used again.
	Knob bool
	// Members says that it is done to each member of the store.
	Members bool
	// Links says that it mends links of a member, also what was done to them at their other end: those
	// with the members that its words name, or all.
	Links bool
	// Async says that it takes real time: it is carried out beside the kernel, which
	// goes on.
	Async bool

	do func(target any, f control.Fault) (Act, error)
}

// Act does a fault; why are its causes.
type Act func(why []trace.ID) error

// Prepare checks what a fault needs of a target and of its further words, so that one that
// is refused leaves no event.
func (r *Row) Prepare(target any, f control.Fault) (Act, error) {
	if r.Args == "" && len(f.Args) > 0 {
		return nil, fmt.Errorf("%s takes no %q: usage: %s %s", f.Name, strings.Join(f.Args, " "), f.Name, f.Target)
	}
	if most := r.words(); most >= 0 && len(f.Args) > most {
		return nil, fmt.Errorf("%s takes no %q: usage: %s", f.Name, strings.Join(f.Args[most:], " "), r.usage(f))
	}
	return r.do(target, f)
}

// Told is how its use is recorded in the trace, including which faults of its target it
// ends, so that readers of the trace know without the table what is still broken.
func (r *Row) Told(f control.Fault) *trace.Fault {
	told := &trace.Fault{
		Fault: f.Name, Target: f.Target, Detail: strings.Join(f.Args, " "),
		Undoes: undoes(TargetKind(f.Target), r), Passing: r.Passing, Members: r.Members, Links: r.Links,
	}
	if r.Links && len(f.Args) > 0 { // these links alone, and nothing else of it
		for _, name := range f.Args {
			told.Peers = append(told.Peers, strings.TrimPrefix(name, "member/"))
		}
		told.Undoes = slices.DeleteFunc(told.Undoes, func(name string) bool { return !ofLinks(name) })
	}
	return told
}

// ofLinks reports whether a fault of a member is one of its links.
func ofLinks(name string) bool {
	r, ok := Find("member", name)
	return ok && slices.ContainsFunc(r.Ways, func(w control.FaultWay) bool { return w.Link != "" })
}

// undoes are the faults of the same target that are over with one.
func undoes(kind string, r *Row) []string {
	var names []string
	for _, o := range table[kind] {
		if o.Heals != "" && (o.Heals == r.Name || slices.Contains(r.As, o.Heals)) || r.Replaces && !o.Repairs && !o.Passing || r.Knob && o.Name == r.Name {
			names = append(names, o.Name)
		}
	}
	if m, ok := Find("member", r.Name); ok && r.Members {
		names = append(names, undoes("member", m)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// words is how many words may follow the target; -1 is any number.
func (r *Row) words() int {
	if strings.Contains(r.Args, "…") {
		return -1
	}
	return len(strings.Fields(r.Args))
}

// StopsOrStarts reports whether a process stops or starts because of it, at once or when it
// next writes to its disk.
func (r *Row) StopsOrStarts() bool {
	for _, name := range append([]string{r.Name, r.Heals}, r.As...) {
		if name == "start" || name == "free" {
			return true
		}
	}
	return r.Replaces
}

func (r *Row) usage(f control.Fault) string {
	return strings.TrimSpace(f.Name + " " + f.Target + " " + r.Args)
}

// table is what can be done, by kind of target.
var table = map[string][]Row{}

// of puts rows into the table.
func of(kind string, rows ...Row) bool {
	table[kind] = append(table[kind], rows...)
	return true
}

// Find is the row of a fault for a kind of target.
func Find(kind, name string) (*Row, bool) {
	rows := table[kind]
	i := slices.IndexFunc(rows, func(r Row) bool { return r.Name == name })
	if i < 0 {
		return nil, false
	}
	return &rows[i], true
}

// Catalogue is the table as those see it who choose a fault: a row for each kind of target
// and fault.
func Catalogue() []control.FaultKind {
	var all []control.FaultKind
	for _, kind := range slices.Sorted(maps.Keys(table)) {
		for _, r := range table[kind] {
			all = append(all, control.FaultKind{
				Name: r.Name, Target: kind, Heals: r.Heals, Means: r.Means, Args: r.Args, Ways: r.Ways, Repairs: r.Repairs, Remedy: r.Remedy,
			})
		}
	}
	return all
}

// Names are the faults that there are, sorted.
func Names() []string {
	var names []string
	for _, rows := range table {
		for _, r := range rows {
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Applies are the kinds of target that a fault applies to, sorted.
func Applies(name string) []string {
	var to []string
	for kind := range table {
		if _, ok := Find(kind, name); ok {
			to = append(to, kind)
		}
	}
	slices.Sort(to)
	return to
}

// Mends are the repairs of a kind of target, in the order of the table.
func Mends(kind string) []string {
	var names []string
	for _, r := range table[kind] {
		if r.Repairs {
			names = append(names, r.Name)
		}
	}
	return names
}

// TargetKind is the part of a target before the slash: "member" of "member/a",
// "scheduler" of "scheduler".
func TargetKind(target string) string {
	kind, _, _ := strings.Cut(target, "/")
	return kind
}

// say is a sentence of the menu.
func say(words string, args ...string) control.FaultWay {
	return control.FaultWay{Say: words, Args: args}
}

// ask is a sentence after which something has to be typed.
func ask(words, what string) control.FaultWay { return control.FaultWay{Say: words, Ask: what} }

// peer is a sentence for each other member, with its name in the place of %s, and the same
// said of the link between the two.
func peer(words, link string, args ...string) control.FaultWay {
	return control.FaultWay{Say: words, Link: link, Args: args, Peer: true}
}

// ways are the sentences of a fault; none for one that does the same as another.
func ways(w ...control.FaultWay) []control.FaultWay { return append([]control.FaultWay{}, w...) }

// act is a fault that needs nothing but its target.
func act[T any](do func(T, []trace.ID) error) func(any, control.Fault) (Act, error) {
	return func(target any, _ control.Fault) (Act, error) {
		return func(why []trace.ID) error { return do(target.(T), why) }, nil
	}
}

// with is a fault with something that is read from its further words.
func with[T, V any](read func(control.Fault) (V, error), do func(T, V, []trace.ID) error) func(any, control.Fault) (Act, error) {
	return func(target any, f control.Fault) (Act, error) {
		v, err := read(f)
		if err != nil {
			return nil, err
		}
		return func(why []trace.ID) error { return do(target.(T), v, why) }, nil
	}
}
