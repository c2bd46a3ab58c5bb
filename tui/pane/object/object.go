// Package object is the pane of one API object. Who owns it and what it owns, what
// is wanted beside what is, the Events about it, what each write changed, and
// the whole as YAML.
//
// Start reading at [Object.Draw].
package object

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// Object is the pane.
type Object struct {
	pane.List
	ref     trace.Ref // zero follows
	studied trace.Ref // what was selected last elsewhere, or stood here when the pane got the focus

	yamls map[runtime.Object][]string // objects as YAML, for as long as they are looked at
	open  map[string]int              // rows that were unfolded of what an owner has, by fold
}

var about = pane.Info{
	Name: "object", Title: "Object",
	Kinds: []string{"budget", "call", "cond", "deletion", "event", "field", "finalizer", "fold", "job", "keeper", "link", "load", "pod", "ref", "revision", "rollout", "runs", "scaling", "self", "slot", "step", "tree", "write"},
	Means: "One object of the API: its owners and what it owns, the spec (what is wanted) beside the status (what is), the " +
		"Events about it, and every write with the fields it changed. Of a workload first how it stands: how many pods a rollout " +
		"may have and must have available, which indexes of a Job are how far, when a CronJob runs next, what load is set; of an autoscaler its sum. Of a PodDisruptionBudget how many pods must be healthy and how many evictions that leaves; of a claim, a volume or a pod with one, the way from the claim to the pods, and what the storage driver was asked. Of many pods those on " +
		"their way are listed; enter on … unfolds the others. It follows what is selected in the other panes until an object is " +
		"opened here.",
	Legend: [][2]string{{"≠", "spec and status differ"}, {"=", "they agree"}, {"◂", "the object shown"}, {"+ - ~", "field added, removed, changed"}, {"†", "has a deletionTimestamp: it is to go"}, {"⚑", "a finalizer: keeps it until it is taken off"}, {"!", "nothing in this cluster acts on it"}, {"┃", "the most pods that may be there, the fewest that must be available"}, {"▇ ▒", "pods of the newest template, of older ones"}, {"■ ● ↻ ✗ ·", "indexes: succeeded, running, tried again, failed, not begun"}, {"… ⋮", "folded: enter unfolds"}},
}

// New makes the pane.
func New() *Object {
	p := &Object{List: pane.NewList(about), yamls: map[runtime.Object][]string{}, open: map[string]int{}}
	p.Key(keymap.Bind(keymap.Open, "open", "Show the object under the cursor, unfold what is folded there, or go to the moment of a write or Event.", "enter"), func(on pane.Subject, f *pane.Frame) action.Action {
		if strings.HasPrefix(on.ID, "fold/") {
			p.unfold(f, on.ID)
			return action.Redraw{}
		}
		if on.Ref.Name == "" {
			return on.Open()
		}
		p.ref = on.Ref
		return action.Redraw{}
	})
	p.Views("object.part", "summary/yaml/history",
		pane.View{Name: "summary", Means: "what one wants to know first", Draw: p.of(p.drawAll)},
		pane.View{Name: "yaml", Means: "the YAML as stored, without managedFields", Draw: p.of(p.drawYAML)},
		pane.View{Name: "history", Means: "what changed with each write", Draw: p.of(func(s *pane.Sheet, f *pane.Frame, y int, o *view.Object) { p.drawHistory(s, f, y, o, 16) })})
	p.Key(keymap.Bind("object.owner", "owner", "Show the owner of this object.", "o"), p.owner)
	p.Key(keymap.Bind("object.follow", "follow", "Follow what is selected or happens.", "x"), pane.Then(func() { p.ref, p.studied = trace.Ref{}, trace.Ref{} }))
	return p
}

// Show implements [pane.Shower].
func (p *Object) Show(ref trace.Ref) { p.ref = ref }

func (p *Object) owner(_ pane.Subject, f *pane.Frame) action.Action {
	o := p.chosen(f)
	if o == nil {
		return nil
	}
	up := f.S.Owner(o)
	if up == nil {
		return action.Notice{Text: o.Ref.String() + " has no owner"}
	}
	p.ref = up.Ref
	return action.Redraw{}
}

// Note implements [pane.Pane].
func (p *Object) Note(f *pane.Frame) string {
	o := p.chosen(f)
	if o == nil {
		return ""
	}
	if name := p.View().Name; name != "summary" {
		return o.Ref.String() + " · " + name
	}
	return o.Ref.String()
}

// chosen is the object shown: the one opened, the one selected elsewhere now or last, or, as
// long as nobody has looked at any, that of the present event. Who comes here to read it finds what stood
// here, whatever happens meanwhile.
func (p *Object) chosen(f *pane.Frame) *view.Object {
	if f.Sel.Ref.Name != "" {
		p.studied = f.Sel.Ref
	}
	o := p.seen(f)
	if f.Focused && o != nil {
		p.studied = o.Ref
	}
	return o
}

func (p *Object) seen(f *pane.Frame) *view.Object {
	if f.Stage && p.ref.Name != "" { // a lesson speaks of this one
		return f.S.Find(p.ref)
	}
	for _, r := range []trace.Ref{p.ref, p.studied} {
		if r.Name != "" {
			if o := f.S.Find(r); o != nil {
				return o
			}
		}
	}
	if e := f.Event(); e != nil && e.Object.Name != "" && !(f.Live && view.Routine(e)) { // a Lease is renewed at any moment
		if o := f.S.Find(e.Object); o != nil {
			return o
		}
	}
	return newest(f.S)
}

// newest is the object written last.
func newest(s *view.State) *view.Object {
	commits := s.Store.Commits()
	for i := len(commits) - 1; i >= 0; i-- {
		for _, c := range commits[i].Changes {
			if c.Object.Name != "" && c.Object.Kind != "Lease" && c.Object.Kind != "Event" {
				if o := s.Find(c.Object); o != nil {
					return o
				}
			}
		}
	}
	return nil
}

// Draw implements [pane.Pane].
func (p *Object) Draw(s *pane.Sheet, f *pane.Frame) { p.View().Draw(s, f) }

// of draws a view of the chosen object below its head.
func (p *Object) of(draw func(s *pane.Sheet, f *pane.Frame, y int, o *view.Object)) func(*pane.Sheet, *pane.Frame) {
	return func(s *pane.Sheet, f *pane.Frame) {
		o := p.chosen(f)
		if o == nil {
			text := "No object yet. Put the cursor on one in another pane to see here what owns it, what is wanted and what is."
			switch {
			case f.Stage && p.ref.Name != "":
				text = p.ref.String() + " is not there at this moment."
			case p.ref.Name != "":
				text = p.ref.String() + " is not there at this moment. x follows what is selected again."
			}
			to := s.Say(0, text, theme.Muted)
			if f.Stage { // that it is not there can be pointed at, too
				s.Mark(grid.Rect{W: min(grid.Width(text), s.W()), H: to}, "self")
			}
			return
		}
		draw(s, f, drawHead(s, f, o), o)
	}
}

// drawAll draws the summary, and as much of the history and the YAML as there is room for.
func (p *Object) drawAll(s *pane.Sheet, f *pane.Frame, y int, o *view.Object) {
	if s.W() < 140 {
		y = p.drawHistory(s, f, p.drawSummary(s, f, y, o), o, 1)
		if f.Rows-y >= 4 { // little is to be said of many kinds
			p.drawYAML(s, f, s.Heading(y, "YAML", "as stored, without managedFields"), o)
		}
		return
	}
	left := s.W() * 54 / 100
	a, b := s.Halves(left)
	p.drawHistory(a, f, p.drawSummary(a, f, y, o), o, 3)
	p.drawYAML(b, f, b.Heading(y, "YAML", "as stored, without managedFields"), o)
	s.Divide(y, left, a, b)
}

// drawSummary draws what one wants to know of an object first.
func (p *Object) drawSummary(s *pane.Sheet, f *pane.Frame, y int, o *view.Object) int {
	for _, text := range o.Inert() {
		y = s.Say(y, "! "+text, theme.Warn)
	}
	if text := f.S.InWords(o); text != "" {
		y = s.Say(y, text, theme.Text)
	}
	y = drawBelief(s, f, y, o)
	quiet := stored(o) && !o.Deleting() // each of them has a finalizer all its life
	if !quiet {
		y = drawDeletion(s, f, y, o)
	}
	y = drawAvailability(s, f, y, o)
	y = drawRollout(s, f, y, o)
	y = drawScaling(s, f, y, o)
	y = drawLoad(s, f, y, o)
	y = drawJob(s, f, y, o)
	y = drawSchedule(s, f, y, o)
	y = drawBudget(s, f, y, o)
	if stored(o) { // it is what one comes for
		y = drawStorage(s, f, y, o)
	}
	if quiet {
		y = drawDeletion(s, f, y, o)
	}
	y = p.drawTree(s, f, y, o)
	y = drawSteps(s, f, y, o, steps(f))
	y = drawOwners(s, f, y, o)
	y = p.drawSpecStatus(s, f, y, o)
	if !stored(o) {
		y = drawStorage(s, f, y, o)
	}
	y = drawGuards(s, f, y, o)
	y = drawConditions(s, f, y, o)
	return drawEvents(s, f, y, o)
}

// steps is how many steps of a rollout there is room for.
func steps(f *pane.Frame) int {
	if f.Rows < 30 {
		return 4
	}
	return 8
}

func drawHead(s *pane.Sheet, f *pane.Frame, o *view.Object) int {
	a := s.Row(0)
	st := theme.Name | grid.Bold
	if f.Fresh(o.Changed) {
		st |= grid.Fresh
	}
	x := a.Text(0, 0, o.Ref.Kind+" ", theme.Muted)
	x = a.Text(x, 0, o.Ref.Key(), st)
	revision := fmt.Sprintf("revision %d", o.Revision)
	text := fmt.Sprintf("  %s   version %d   #%s", revision, o.Version, o.Changed)
	if o.Deleted {
		a.Text(x, 0, "  DELETED at #"+o.Changed.String(), theme.Bad|grid.Bold)
	} else {
		a.Fit(x, 0, s.W()-x, text, theme.Muted)
		if f.Stage {
			s.Mark(grid.Rect{X: x + 2, W: len(revision), H: 1}, "revision")
		}
	}
	s.Hot(0, 0, s.W(), pane.Subject{
		ID: "self", Ref: o.Ref, Event: o.Changed, Pod: podKey(o), Target: targetOf(o), Copy: o.Ref.Key(),
		Words: fmt.Sprintf("%s: created at revision %d, last written at revision %d (event #%s), version %d, %s.", o.Ref, o.CreateRevision, o.Revision, o.Changed, o.Version, words.Bytes(o.Size)),
	})
	return 1
}

func podKey(o *view.Object) string {
	if o.Resource == "pods" {
		return o.Ref.Key()
	}
	return ""
}

func targetOf(o *view.Object) string {
	switch o.Resource {
	case "pods":
		return "pod/" + o.Ref.Key()
	case "nodes":
		return "node/" + o.Name()
	}
	return ""
}

func drawEvents(s *pane.Sheet, f *pane.Frame, y int, o *view.Object) int {
	list := pane.Newest(f.S.KubeEventsAbout(o.Ref))
	if len(list) == 0 {
		return y
	}
	y = s.Heading(y, "Events", "newest first")
	for _, e := range list {
		st := theme.Text
		if e.Type != "Normal" {
			st = theme.Warn
		}
		if f.Fresh(e.Event) {
			st |= grid.Fresh
		}
		a := s.Row(y)
		x := a.Text(0, 0, "#"+e.Event.String()+" ", theme.Event)
		x = a.Text(x, 0, words.Dur(f.S.At-e.At)+" ago ", theme.Muted)
		x = a.Text(x, 0, e.Reason+" ", st|grid.Bold)
		if e.Count > 1 {
			x = a.Text(x, 0, fmt.Sprintf("×%d ", e.Count), theme.Number)
		}
		a.Fit(x, 0, s.W()-x, e.Message, st)
		s.Hot(0, y, s.W(), pane.Subject{ID: "event/" + e.Event.String(), Event: e.Event, Kind: trace.EventRecorded, Words: e.From + ": " + e.Reason + ": " + e.Message})
		y++
	}
	return y
}

// yamlOf writes an object as YAML without the managed fields.
func yamlOf(v runtime.Object) []string {
	if v == nil {
		return nil
	}
	raw, err := yaml.Marshal(v)
	if err != nil {
		return []string{"(" + err.Error() + ")"}
	}
	lines := strings.Split(strings.TrimRight(string(raw), "\n"), "\n")
	out := make([]string, 0, len(lines))
	skip := false
	for _, l := range lines {
		if strings.HasPrefix(l, "  managedFields:") {
			skip = true
			out = append(out, "  managedFields: …")
			continue
		}
		if skip && (strings.HasPrefix(l, "  - ") || strings.HasPrefix(l, "    ")) {
			continue
		}
		skip = false
		out = append(out, l)
	}
	return out
}

// yaml is [yamlOf] remembered for the last few dozen objects.
func (p *Object) yaml(v runtime.Object) []string {
	if v == nil {
		return nil
	}
	text, ok := p.yamls[v]
	if !ok {
		if len(p.yamls) >= 40 {
			clear(p.yamls)
		}
		text = yamlOf(v)
		p.yamls[v] = text
	}
	return text
}

func (p *Object) drawYAML(s *pane.Sheet, f *pane.Frame, y int, o *view.Object) {
	text := p.yaml(o.Value)
	if len(text) == 0 {
		s.Row(y).Text(0, 0, "the trace has only the key of this object", theme.Muted)
		return
	}
	var at fieldPath
	for _, l := range text {
		field := at.next(l)
		if !f.Match(l) {
			continue
		}
		drawYAMLLine(s.Row(y), l)
		if f.Stage && field != "" {
			body := strings.TrimLeft(l, " ")
			x := len(l) - len(body)
			s.Mark(grid.Rect{X: x, Y: y, W: min(grid.Width(body), s.W()-x), H: 1}, "field/"+field)
		}
		y++
	}
}

func drawYAMLLine(a grid.Area, l string) {
	body := strings.TrimLeft(l, " -")
	indent := l[:len(l)-len(body)]
	x := a.Text(0, 0, indent, theme.Muted)
	if i := strings.Index(body, ": "); i > 0 {
		x = a.Text(x, 0, body[:i+1], theme.Name)
		a.Text(x, 0, body[i+1:], theme.Text)
		return
	}
	if strings.HasSuffix(body, ":") {
		a.Text(x, 0, body, theme.Name)
		return
	}
	a.Text(x, 0, body, theme.Text)
}
