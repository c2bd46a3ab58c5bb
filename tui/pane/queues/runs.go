package queues

import (
	"fmt"
	"sort"
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// drawRuns lists the latest finished runs of all controllers, newest first:
// which key, how it ended, and what was done.
func drawRuns(s *pane.Sheet, f *pane.Frame, y, room int) {
	var runs []*view.ReconcileRun
	for _, c := range f.S.Controllers() {
		runs = append(runs, c.Recent()...)
	}
	if len(runs) == 0 {
		return
	}
	sort.SliceStable(runs, func(i, j int) bool { return runs[i].End.Compare(runs[j].End) > 0 })
	y = s.Heading(y, "latest runs", "newest first: how long, key, result, what was done")
	room--
	for _, r := range runs {
		if room == 0 {
			return
		}
		if !f.Match(r.Controller, r.Key, r.Result) {
			continue
		}
		drawFinished(s, f, y, r)
		y, room = y+1, room-1
	}
}

// length is how long a run took; nothing for one that found nothing to wait for.
func length(r *view.ReconcileRun) string {
	if r.Took() <= 0 {
		return ""
	}
	return words.Dur(r.Took())
}

func drawFinished(s *pane.Sheet, f *pane.Frame, y int, r *view.ReconcileRun) {
	mark, st := "✓ ", theme.Good
	var did []string
	for _, a := range r.Actions {
		did = append(did, "⇒ "+a.Verb+" "+a.Why)
	}
	text := strings.Join(did, "; ")
	switch {
	case r.Error != "":
		mark, st, text = "✗ ", theme.Bad, r.Error
	case r.Result == "requeue":
		mark, st = "↻ ", theme.Warn
	}
	if line := sumOf(r); line != "" && r.Error == "" {
		mark, st, text = "= ", theme.Muted, line
		if r.Actions[len(r.Actions)-1].Verb == "scale" {
			mark, st, text = "✓ ", theme.Good, "⇒ scale: "+line
		}
	}
	if text == "" && r.Error == "" && r.Waits != "" {
		mark, st, text = "◷ ", theme.Warn, r.Waits
	}
	if text == "" {
		mark, st, text = "= ", theme.Muted, "nothing to do"
	}
	body := theme.Text
	if f.Fresh(r.End) {
		body |= grid.Fresh
	}
	s.Line(y, pane.Subject{
		ID: fmt.Sprintf("done/%s/%s", r.Controller, r.End), Event: r.End, Kind: trace.ReconcileEnd,
		Words: fmt.Sprintf("%s ran over %s for %s, until %s ago: %s%s. %s", r.Controller, r.Key, words.Dur(r.Took()), words.Dur(f.S.At-r.EndAt), r.Result, took(r), text),
	},
		grid.Span{Text: grid.PadLeft("#"+r.End.String(), 7) + " ", Style: theme.Event}, grid.Span{Text: grid.PadLeft(length(r), 6) + " ", Style: theme.Number}, grid.Span{Text: mark, Style: st},
		grid.Span{Text: grid.Pad(pane.Abbreviate(r.Controller), 16) + " ", Style: theme.Name}, grid.Span{Text: r.Key + "  ", Style: body}, grid.Span{Text: text, Style: st})
}
