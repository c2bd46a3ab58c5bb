package pane

import (
	"fmt"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/theme"
)

// mostFields is how many fields of an object are shown that a cache has otherwise.
const mostFields = 4

// Unknown draws the events that a client does not know, those that are held on their way
// to it and those that were lost, and below them what its cache has beside what is stored.
func Unknown(s *Sheet, f *Frame, y int, id, target string, held, lost []view.Stale) int {
	event := func(u view.Stale, mark, what string, st grid.Style, kind trace.Kind, words string) {
		if f.Fresh(u.Event) {
			st |= grid.Fresh
		}
		s.Line(y, Subject{
			ID: fmt.Sprintf("%s/%s/%d", id, u.Object.Key(), u.Revision), Event: u.Event, Kind: kind, Target: target, Value: u,
			Words: fmt.Sprintf("The event of %s at revision %d %s", u.Object, u.Revision, words),
		}, grid.Span{Text: "    " + mark + " ", Style: st}, grid.Span{Text: u.Object.Key(), Style: theme.Name},
			grid.Span{Text: fmt.Sprintf(": %s at %d %s", u.Type, u.Revision, what), Style: st})
		y++
	}
	for _, u := range held {
		event(u, "◷", "is held", theme.Warn, trace.WatchHeld, "waits on its way: this client acts on what it knew before.")
	}
	for _, u := range lost {
		if u.Back {
			event(u, "✗", "was overtaken", theme.Bad, trace.WatchDelivered, "arrived before an older one: this cache has gone back in time, until the object changes again or the client lists again.")
			continue
		}
		event(u, "✗", "was lost", theme.Bad, trace.WatchLost, "was lost: this cache has it as it was before, until the object changes again or the client lists again.")
	}
	return drawBeliefs(s, y, view.Beliefs(append(lost, held...)))
}

// drawBeliefs draws what a cache has beside what is stored, object by object.
func drawBeliefs(s *Sheet, y int, all []view.Belief) int {
	fields, of := 0, ""
	for _, b := range all {
		if b.Object.Key() != of {
			fields, of = 0, b.Object.Key()
		}
		if fields++; fields > mostFields {
			continue
		}
		spans := []grid.Span{{Text: "      " + b.Object.Name + " ", Style: theme.Muted}}
		if b.Path != "" {
			spans = append(spans, grid.Span{Text: b.Path + " ", Style: theme.Text})
		}
		spans = append(spans, grid.Span{Text: "believes ", Style: theme.Muted}, grid.Span{Text: grid.Cut(b.Believes, 24), Style: theme.Removed},
			grid.Span{Text: "  stored ", Style: theme.Muted}, grid.Span{Text: grid.Cut(b.Stored, 24), Style: theme.Added})
		s.Line(y, Subject{}, spans...)
		y++
	}
	return y
}
