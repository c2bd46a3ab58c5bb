package menu

import (
	"fmt"
	"slices"
	"strings"

	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/tui/action"
	"kviz/tui/overlay"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// Offer is a breakpoint that could be set.
type Offer struct{ Says, Expr string }

// Breakpoints lists those that are set, and those that could be: of what is looked at, and
// in general.
func Breakpoints(set []control.Breakpoint, offers, general []Offer, resumeKey string, ask action.Prompt) overlay.Overlay {
	p := &overlay.Picker{Title: "Breakpoints", Intro: "Where the cluster stops, every time. " + resumeKey + " lets it run on."}
	for _, b := range set {
		p.Items = append(p.Items, overlay.Item{
			Label: fmt.Sprintf("● %d  %s", b.Number, b.Expr), Style: theme.Bad,
			Note: "hit " + words.Count(b.Hits, "time"), Detail: "Remove it.", Do: action.Unbreak{Number: b.Number},
		})
	}
	for _, o := range offers {
		p.Items = append(p.Items, overlay.Item{Label: "○ " + o.Says, Detail: o.Expr, Do: action.Break{Expr: o.Expr}})
	}
	for _, o := range general {
		p.Items = append(p.Items, overlay.Item{Label: "○ when " + o.Says, Detail: o.Expr, Do: action.Break{Expr: o.Expr}})
	}
	p.Items = append(p.Items, overlay.Item{Label: "○ where an expression holds …", Detail: "Any CEL expression over the state and the event; tab completes names.", Do: ask})
	return p
}

// Breakable are breakpoints that could be set at a kind of event, which may be "", an
// object and an event, which may be nil.
func Breakable(kind trace.Kind, ref trace.Ref, e *trace.Event) []Offer {
	var out []Offer
	if kind != "" {
		out = append(out, Offer{fmt.Sprintf("at every %s: %s", kind, lower(kind.Info().Means)), fmt.Sprintf("event.kind == %q", kind)})
	}
	if e != nil {
		out = append(out, stages(e)...)
	}
	if ref.Name == "" && e != nil {
		ref = e.Object
	}
	if ref.Name != "" {
		about := fmt.Sprintf("event.object.kind == %q && event.object.name == %q", ref.Kind, ref.Name)
		if ref.Namespace != "" {
			about += fmt.Sprintf(" && event.object.namespace == %q", ref.Namespace)
		}
		out = append(out, Offer{"at everything about " + ref.String(), about})
		if kind != "" && e != nil && e.Object.Name == ref.Name {
			out = append(out, Offer{fmt.Sprintf("at every %s about %s", kind, ref), fmt.Sprintf("event.kind == %q && %s", kind, about)})
		}
	}
	if e != nil && e.Lane.Component != trace.CompSimulation && e.Lane.Component != "" {
		out = append(out, Offer{"at everything " + e.Lane.String() + " does", fmt.Sprintf("event.lane == %q", e.Lane.String())})
	}
	return out
}

// stages are the stages of the request pipeline, for an event of a request: the one
// that it tells of first. A request is held after the stage that it stands at, so
// after validating admission it is whole and nothing of it is stored.
func stages(e *trace.Event) []Offer {
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
	var out []Offer
	for _, name := range names {
		out = append(out, Offer{
			"after the stage " + name + of,
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
