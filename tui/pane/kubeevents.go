package pane

import (
	"fmt"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// KubeEvents draws the newest Kubernetes Events that are wanted and that the
// filter lets through, newest first, in room rows from y on with their heading.
func (s *Sheet) KubeEvents(y, room int, f *Frame, want func(view.KubeEvent) bool) int {
	y = s.Heading(y, "Kubernetes Events", "newest first")
	all, shown, about := Newest(f.S.KubeEvents()), make([]view.KubeEvent, 0, room), 0
	for i := 0; i < len(all) && len(shown) < room-1; i++ {
		if e := all[i]; want(e) && f.Match(e.Reason, e.Message, e.Regarding.String(), e.Type) {
			shown = append(shown, e)
			about = max(about, min(grid.Width(regarding(e)), 36))
		}
	}
	if len(shown) == 0 {
		s.Row(y).Fit(0, 0, s.w, "None yet.", theme.Muted)
		return y + 1
	}
	if s.w < 100 { // no room to have the messages stand below one another
		about = 0
	}
	for _, e := range shown {
		s.kubeEvent(y, f, e, about)
		y++
	}
	return y
}

// Newest is what each Event says last, the newest first: one that is recorded again is the same Event with a greater count, as
// kubectl shows it.
func Newest(all []view.KubeEvent) []view.KubeEvent {
	said := make(map[trace.KubeEvent]bool, len(all))
	var out []view.KubeEvent
	for i := len(all) - 1; i >= 0; i-- {
		same := *all[i].KubeEvent
		same.Count = 0
		if !said[same] {
			said[same] = true
			out = append(out, all[i])
		}
	}
	return out
}

func regarding(e view.KubeEvent) string { return e.Regarding.Kind + "/" + e.Regarding.Name }

func (s *Sheet) kubeEvent(y int, f *Frame, e view.KubeEvent, about int) {
	mark, st := "  ", theme.Text
	if e.Type != "Normal" {
		mark, st = "! ", theme.Warn
	}
	if f.Fresh(e.Event) {
		st |= grid.Fresh
	}
	ago := words.Dur(f.S.At - e.At)
	spans := []grid.Span{
		{Text: grid.PadLeft(ago, 6) + " ago ", Style: theme.Muted},
		{Text: mark + grid.Pad(e.Reason, 18) + " ", Style: st | grid.Bold},
		{Text: grid.Pad(regarding(e), max(about, grid.Width(regarding(e)))) + "  ", Style: theme.Name},
	}
	if e.Count > 1 {
		spans = append(spans, grid.Span{Text: fmt.Sprintf("×%d ", e.Count), Style: theme.Number})
	}
	spans = append(spans, grid.Span{Text: e.Message, Style: st})
	if s.w < 76 {
		spans[1].Text = mark + e.Reason + " "
	}
	s.Line(y, Subject{
		ID: "event/" + e.Event.String(), Ref: e.Regarding, Event: e.Event, Kind: trace.EventRecorded,
		Words: fmt.Sprintf("%s says of %s, %s ago: %s: %s", e.From, e.Regarding, ago, e.Reason, e.Message),
	}, spans...)
}
