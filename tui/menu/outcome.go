package menu

import (
	"fmt"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/overlay"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// Outcome is a page about two runs: where they first differ, and the effects of that
// in each.
func Outcome(c *view.Comparison, a, b string) overlay.Overlay {
	return &overlay.Page{
		Title: "What came of it", Wide: true, Rows: func(w int) []overlay.Row { return outcomeRows(c, a, b, w) },
		Offer: keymap.Hint("t", "by another time", "t"), Does: AskCompared(words.Clock(c.Until), ""),
	}
}

func outcomeRows(c *view.Comparison, a, b string, w int) []overlay.Row {
	var rows []overlay.Row
	text := func(t string, st grid.Style) {
		for _, l := range overlay.Lines(t, w) {
			rows = append(rows, overlay.Row{{Text: l, Style: st}})
		}
	}
	if !c.Differs {
		text(fmt.Sprintf("The same so far: %s.", words.Count(int(c.Same), "event")), theme.Text)
	} else {
		text(fmt.Sprintf("The same up to #%d, then", c.Same), theme.Text)
		text(a+": "+next(c.A.Next), theme.Text)
		text(b+": "+next(c.B.Next), theme.Text)
	}
	text(byThen(c, a, b), theme.Muted)
	label := 0
	for _, p := range c.Pods {
		label = max(label, grid.Width(p.Name))
	}
	label = min(max(label, 28), w-2*14)
	half := (w - label) / 2
	row := func(name, x, y string, head bool) {
		st, xs := theme.Muted, theme.Text
		if head {
			st, xs = theme.Title, theme.Title
		}
		mark := grid.Span{Text: "  "}
		if x != y && !head {
			mark = grid.Span{Text: "≠ ", Style: theme.Warn | grid.Bold}
		}
		rows = append(rows, overlay.Row{
			mark,
			{Text: overlay.Padded(grid.Cut(name, label-3), label-2), Style: st},
			{Text: overlay.Padded(grid.Cut(x, half-1), half), Style: xs},
			{Text: grid.Cut(y, half), Style: xs},
		})
	}
	rows = append(rows, nil)
	row("", a, b, true)
	count := func(name string, x, y int) { row(name, fmt.Sprint(x), fmt.Sprint(y), false) }
	count("pods ready then", c.A.ReadyPods, c.B.ReadyPods)
	count("writes of the store", c.A.Commits, c.B.Commits)
	count("refused by the store", c.A.StoreRefused, c.B.StoreRefused)
	count("writes refused by the API", c.A.Refused, c.B.Refused)
	row("longest without a write", gap(c.A), gap(c.B), false)
	if len(c.Pods) > 0 {
		rows = append(rows, nil)
		row("pod ready after", "", "", true)
		for _, p := range c.Pods {
			row(p.Name, readyAfter(p.A), readyAfter(p.B), false)
		}
	}
	return rows
}

// byThen says up to when both are summed up, and which goes on after that.
func byThen(c *view.Comparison, a, b string) string {
	said := "What came of both by " + words.Clock(c.Until)
	longer, end := a, c.A.End
	if c.B.End > end {
		longer, end = b, c.B.End
	}
	if end > c.Until {
		said += fmt.Sprintf("; %s goes on to %s", longer, words.Clock(end))
	}
	return said + ". t: by an earlier time."
}

// AskCompared asks by which time what came of two runs is wanted.
func AskCompared(text, wrong string) action.Prompt {
	return action.Prompt{
		For: action.ForCompared, Title: "What came of both by", Intro: "A virtual time, as the header writes it (0:08.220), or 8.2s; nothing for as far as both have come.",
		Text: text, Error: wrong,
	}
}

func next(e *trace.Event) string {
	if e == nil {
		return "nothing more"
	}
	return fmt.Sprintf("#%s %s", e.ID, view.Explain(e))
}

func gap(o view.Outcome) string {
	if o.Gap == 0 {
		return "-"
	}
	return fmt.Sprintf("%s from #%s", words.Dur(o.Gap), o.GapFrom)
}

func readyAfter(p view.PodReady) string {
	switch {
	case !p.Seen:
		return "-"
	case p.After == 0:
		return "never"
	}
	return words.Dur(p.After.Round(time.Millisecond))
}
