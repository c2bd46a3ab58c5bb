package drive

import (
	"fmt"
	"strings"

	"kviz/tui/action"
)

// AskBreak asks for the expression of a breakpoint.
var AskBreak = action.Prompt{
	For: action.ForBreak, Title: "Stop where",
	Intro: "A CEL expression. The cluster stops after every event for which it holds: event.kind == \"api.stage\" && event.payload.stage == \"storage\". Without event it stops when it begins to hold: store.leader == \"b\".",
}

// Breaker is the cluster as far as it has breakpoints; nil with the reason while there is
// none.
func (d *Driver) Breaker() (Breaker, action.Action) {
	if d.cluster == nil {
		return nil, d.absent()
	}
	return d.cluster, nil
}

// Break sets a breakpoint; for a bad expression the prompt opens again.
func (d *Driver) Break(expr string) action.Action {
	b, why := d.Breaker()
	if b == nil || strings.TrimSpace(expr) == "" {
		return why
	}
	set, err := b.Break(expr)
	if err != nil {
		again := AskBreak
		again.Text, again.Error = expr, err.Error()
		return again
	}
	return action.Notice{Text: fmt.Sprintf("breakpoint %d: %s", set.Number, set.Expr)}
}

// Unbreak removes a breakpoint.
func (d *Driver) Unbreak(number int) action.Action {
	b, why := d.Breaker()
	if b == nil {
		return why
	}
	if err := b.Unbreak(number); err != nil {
		return action.Notice{Text: err.Error()}
	}
	return action.Notice{Text: fmt.Sprintf("breakpoint %d is removed", number)}
}
