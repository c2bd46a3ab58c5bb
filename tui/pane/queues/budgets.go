package queues

import (
	"fmt"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// drawBudgets draws the budgets of the disruption controller, each with its sum in one line: how many pods are healthy, how
// many must be, how many evictions that leaves, and how many were refused.
func drawBudgets(s *pane.Sheet, f *pane.Frame, y int, r *row) int {
	if r.name != "disruption-controller" {
		return y
	}
	all := f.S.Budgets("")
	if len(all) == 0 {
		return y
	}
	y = s.Heading(y, "budgets", "healthy − must be = evictions allowed")
	name := 28
	if s.W() < 100 {
		name = 20
	}
	for _, b := range all {
		if f.Match(b.Of.Key(), b.Rule) {
			y = drawSum(s, f, y, b, name)
		}
	}
	return y
}

func drawSum(s *pane.Sheet, f *pane.Frame, y int, b *view.Budget, name int) int {
	st := theme.Good
	if b.Allowed == 0 {
		st = theme.Warn
	}
	sum := fmt.Sprintf("%d − %d = %d", b.Healthy, b.Desired, b.Healthy-b.Desired)
	says := "of " + fmt.Sprint(b.Expected)
	switch {
	case b.Failed != "":
		sum, says = "0", "cannot be counted: "+b.Failed
	case b.Behind:
		sum, says = "0", "not counted since it was written"
	case b.Expected <= 0:
		sum, says = "0", "no pod is expected"
	case b.Never():
		says += ", never any"
	}
	title := theme.Name
	if f.Fresh(b.Changed) {
		title |= grid.Fresh
	}
	spans := []grid.Span{
		{Text: grid.Pad(grid.Cut(b.Of.Key(), name), name) + " ", Style: title},
		{Text: grid.Pad(sum, 12) + " ", Style: st | grid.Bold},
		{Text: says + "  ", Style: theme.Text},
	}
	if n, at := b.Refused(f.S); n > 0 {
		spans = append(spans, grid.Span{Text: fmt.Sprintf("refused %d, last %s ago  ", n, words.Dur(f.S.At-at)), Style: theme.Warn})
	}
	spans = append(spans, grid.Span{Text: b.Rule, Style: theme.Muted})
	s.Line(y, pane.Subject{ID: "budget/" + b.Of.Key(), Ref: b.Of, Event: b.Changed, Copy: b.Of.Key(), Kind: trace.StoreCommit, Words: b.Of.String() + ": " + b.Says + "."}, spans...)
	return y + 1
}
