package queues

import (
	"fmt"
	"strings"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// noteClients is how many requests their clients' rate limits hold back.
func noteClients(f *pane.Frame) string {
	held := 0
	for _, c := range f.S.Clients() {
		held += c.Waiting(f.S.At)
	}
	return words.Count(held, "request") + " held back"
}

// drawClients draws the components' clients of the API server: how fast each may send, what
// is left of its burst, and what waits; those first whose limit has held something back.
func drawClients(s *pane.Sheet, f *pane.Frame) {
	y := s.Heading(0, "clients", "requests a second, and at once after a rest")
	list := f.S.Clients()
	if len(list) == 0 {
		s.Say(y, "No component has started yet. Each has a rate limit in its own client; the API server does not know it.", theme.Muted)
		return
	}
	for _, held := range []bool{true, false} {
		for _, c := range list {
			if held == (c.Held > 0) && f.Match(c.Whose()) {
				y = drawClient(s, f, y, c)
			}
		}
	}
}

func drawClient(s *pane.Sheet, f *pane.Frame, y int, c *view.Client) int {
	name, gauge, count, wait := 24, 6, 10, 9
	if s.W() >= 100 {
		name, gauge, count, wait = 42, 10, 13, 11
	}
	left, exact := c.Left(f.S.At)
	waiting := c.Waiting(f.S.At)
	room, rest, st := fmt.Sprint(left), "▱", theme.Warn
	if !exact { // of the other half nothing is known
		left = (c.Burst + 1) / 2
		room, rest, st = fmt.Sprintf("≥%d", left), "┄", theme.Good
	}
	full := min((left*gauge+c.Burst-1)/c.Burst, gauge)
	waits, wst := "", theme.Muted
	if waiting > 0 {
		waits, wst = fmt.Sprintf("◷ %d wait", waiting), theme.Warn|grid.Bold
	}
	if f.Fresh(c.Event) {
		wst |= grid.Fresh
	}
	s.Line(y, pane.Subject{ID: "client/" + c.Lane + "/" + c.Client, Event: c.Event, Copy: c.Whose(), Kind: trace.ClientLimited, Words: clientWords(f, c)},
		grid.Span{Text: grid.Pad(pane.Abbreviate(c.Whose()), name) + " ", Style: theme.Name},
		grid.Span{Text: grid.PadLeft(fmt.Sprint(c.QPS), 4) + "/s ", Style: theme.Number},
		grid.Span{Text: strings.Repeat("▰", full), Style: st}, grid.Span{Text: strings.Repeat(rest, gauge-full) + " ", Style: theme.Muted},
		grid.Span{Text: grid.Pad(room+" of "+fmt.Sprint(c.Burst), count) + " ", Style: theme.Text},
		grid.Span{Text: grid.Pad(waits, wait) + " ", Style: wst},
		grid.Span{Text: heldBack(c), Style: theme.Muted})
	return y + 1
}

// heldBack is what the limit has cost so far.
func heldBack(c *view.Client) string {
	if c.Held == 0 {
		return ""
	}
	return fmt.Sprintf("%d held, %s in all", c.Held, words.Dur(c.HeldFor))
}

func clientWords(f *pane.Frame, c *view.Client) string {
	left, exact := c.Left(f.S.At)
	now := fmt.Sprintf("%d are left now", left)
	switch waiting := c.Waiting(f.S.At); {
	case waiting == 1:
		now = "1 waits for its turn now"
	case waiting > 1:
		now = fmt.Sprintf("%d wait for their turn now", waiting)
	case !exact:
		now = "at least half of these are left now"
	}
	text := fmt.Sprintf("%s may send %s requests a second, and %d at once after a rest; %s.", c.Whose(), fmt.Sprint(c.QPS), c.Burst, now)
	if c.Held > 0 {
		text += fmt.Sprintf(" So far %s waited, %s in all and %s at most.", words.Count(int(c.Held), "request"), words.Dur(c.HeldFor), words.Dur(c.Longest))
	}
	return text + " Watches are not limited."
}

// held says that a run waits for its client's rate limit, while it does.
func held(r *view.ReconcileRun, now time.Duration) string {
	if r.HeldUntil <= now {
		return ""
	}
	return "◷ its client's rate limit holds it back for " + words.Dur(r.HeldUntil-now)
}
