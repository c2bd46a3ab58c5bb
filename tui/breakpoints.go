package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/tui/overlay"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// What can be chosen in the list of breakpoints.
type (
	setBreak    string // its expression
	removeBreak int    // its number
	askBreak    struct{}
)

const breakIntro = "A CEL expression. The cluster stands after every event for which it holds: event.kind == \"api.stage\" && event.payload.stage == \"storage\". Without event it stands when it begins to hold: store.leader == \"b\"."

// breaker is the cluster as far as it has breakpoints.
func (m *Explorer) breaker() (control.Breaker, bool) {
	if m.ctl == nil {
		m.say("the cluster is still starting")
		return nil, false
	}
	b, ok := m.ctl.(control.Breaker)
	if !ok {
		m.say("nothing can be stopped here")
	}
	return b, ok
}

// breakpoints lists those there are, and what could be one: the kind, the
// object and the component of what the person is looking at.
func (m *Explorer) breakpoints() {
	if m.cfg.Recording != "" {
		m.say("this is a recording: a breakpoint stops a running cluster")
		return
	}
	b, ok := m.breaker()
	if !ok {
		return
	}
	p := &overlay.Picker{Title: "Breakpoints", Intro: "Where the cluster comes to stand, every time. " + keymapWord(m, "clock.pause") + " lets it run on."}
	for _, set := range b.Breakpoints() {
		p.Items = append(p.Items, overlay.Item{
			Label: fmt.Sprintf("● %d  %s", set.Number, set.Expr), Style: theme.Bad,
			Note: "hit " + words.Count(set.Hits, "time"), Detail: "Remove it.", Value: removeBreak(set.Number),
		})
	}
	for _, s := range m.breakable() {
		p.Items = append(p.Items, overlay.Item{Label: "○ " + s[0], Detail: s[1], Value: setBreak(s[1])})
	}
	p.Items = append(p.Items, overlay.Item{Label: "○ where an expression holds …", Detail: "Any CEL expression over the state and the event.", Value: askBreak{}})
	m.push(p)
}

func keymapWord(m *Explorer, action string) string {
	b, _ := m.keys.Get(action)
	return b.Labels()
}

// breakable are sentences and expressions for what is under the cursor, or
// else for the event that the explanation line tells.
func (m *Explorer) breakable() [][2]string {
	on := m.host().Under()
	e := m.hist.Event(on.Event)
	if e == nil || on.Event.IsZero() || !m.pointed && on.Kind == "" {
		e = m.told()
	}
	var out [][2]string
	kind := m.kindHere()
	if kind != "" {
		out = append(out, [2]string{fmt.Sprintf("at every %s: %s", kind, lower(kind.Info().Means)), fmt.Sprintf("event.kind == %q", kind)})
	}
	if e != nil {
		out = append(out, stages(e)...)
	}
	ref := on.Ref
	if ref.Name == "" && e != nil {
		ref = e.Object
	}
	if ref.Name != "" {
		about := fmt.Sprintf("event.object.kind == %q && event.object.name == %q", ref.Kind, ref.Name)
		if ref.Namespace != "" {
			about += fmt.Sprintf(" && event.object.namespace == %q", ref.Namespace)
		}
		out = append(out, [2]string{"at everything about " + ref.String(), about})
		if kind != "" && e != nil && e.Object.Name == ref.Name {
			out = append(out, [2]string{fmt.Sprintf("at every %s about %s", kind, ref), fmt.Sprintf("event.kind == %q && %s", kind, about)})
		}
	}
	if e != nil && e.Lane.Component != trace.CompSimulation && e.Lane.Component != "" {
		out = append(out, [2]string{"at everything " + e.Lane.String() + " does", fmt.Sprintf("event.lane == %q", e.Lane.String())})
	}
	return out
}

// stages are the stages of the request pipeline, for an event of a request: the one
// that it tells of first. A request is held behind the stage that it stands at, so
// behind validating admission it is whole and nothing of it is stored.
func stages(e *trace.Event) [][2]string {
	names := trace.Stages()
	switch p := e.Payload.(type) {
	case *trace.Stage:
		if i := slices.Index(names, p.Stage); i > 0 {
			names = append(append([]string{p.Stage}, names[:i]...), names[i+1:]...)
		}
	case *trace.Request, *trace.Response:
	default:
		return nil
	}
	of, about := "", ""
	if e.Object.Kind != "" {
		of, about = " of a request for a "+e.Object.Kind, fmt.Sprintf(" && event.object.kind == %q", e.Object.Kind)
	}
	var out [][2]string
	for _, name := range names {
		out = append(out, [2]string{
			"behind the stage " + name + of,
			fmt.Sprintf("event.kind == %q && event.payload.stage == %q%s", trace.RequestStage, name, about),
		})
	}
	return out
}

func lower(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// setBreak sets a breakpoint; a bad expression is asked for again.
func (m *Explorer) setBreak(expr string) tea.Cmd {
	b, ok := m.breaker()
	if !ok || strings.TrimSpace(expr) == "" {
		return nil
	}
	set, err := b.Break(expr)
	if err != nil {
		m.prompt(promptBreak, "Stand where", breakIntro, expr)
		m.prompts[promptBreak].Error = err.Error()
		return nil
	}
	m.say(fmt.Sprintf("breakpoint %d: %s", set.Number, set.Expr))
	return nil
}

func (m *Explorer) removeBreak(number int) {
	b, ok := m.breaker()
	if !ok {
		return
	}
	if err := b.Unbreak(number); err != nil {
		m.say(err.Error())
		return
	}
	m.say(fmt.Sprintf("breakpoint %d is removed", number))
}
