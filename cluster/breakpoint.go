package cluster

import (
	"errors"
	"fmt"
	"strings"

	"kviz/cluster/control"
	"kviz/cluster/expr"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// breakpoint is a stop that stays.
type breakpoint struct {
	control.Breakpoint
	stop *sim.Stop
}

// Break sets a breakpoint. It changes nothing but when the cluster stands, so a
// run with breakpoints has the trace of one without.
func (c *Cluster) Break(src string) (control.Breakpoint, error) {
	src = strings.TrimSpace(src)
	if src == "" {
		return control.Breakpoint{}, errNoExpression
	}
	p, err := expr.Compile(src)
	if err != nil {
		return control.Breakpoint{}, err
	}
	var set control.Breakpoint
	err = c.k.Do(func() {
		c.broken++
		b := &breakpoint{Breakpoint: control.Breakpoint{Number: c.broken, Expr: src}}
		b.stop = &sim.Stop{At: c.breaks(p), Hit: func(e *trace.Event) {
			b.Hits++
			c.why = fmt.Sprintf("breakpoint %d at #%s", b.Number, e.ID)
			c.k.After(0, c.noteClock)
		}}
		c.breakpoints = append(c.breakpoints, b)
		c.k.AddStop(b.stop)
		set = b.Breakpoint
	})
	return set, err
}

// breaks says after which events a breakpoint makes the cluster stand. What it
// says of the clock itself is not asked about, or it would never move again.
func (c *Cluster) breaks(p *expr.Program) func(*trace.Event) bool {
	ask := func(e *trace.Event) bool {
		if !p.Mentions("event") {
			e = nil
		}
		holds, err := p.Eval(c.folded(), e)
		return err == nil && holds
	}
	if p.Mentions("event") {
		return func(e *trace.Event) bool { return e.Kind != trace.ClockChanged && ask(e) }
	}
	held := ask(nil)
	return func(e *trace.Event) bool {
		was := held
		held = ask(e)
		return held && !was
	}
}

// Breakpoints lists the breakpoints.
func (c *Cluster) Breakpoints() []control.Breakpoint {
	var list []control.Breakpoint
	_ = c.k.Do(func() { // a cluster that has ended has none
		for _, b := range c.breakpoints {
			list = append(list, b.Breakpoint)
		}
	})
	return list
}

// Unbreak removes a breakpoint.
func (c *Cluster) Unbreak(number int) error {
	known := errors.New("there are none")
	err := c.k.Do(func() {
		var numbers []string
		for i, b := range c.breakpoints {
			if b.Number == number {
				c.k.RemoveStop(b.stop)
				c.breakpoints = append(c.breakpoints[:i:i], c.breakpoints[i+1:]...)
				known = nil
				return
			}
			numbers = append(numbers, fmt.Sprint(b.Number))
		}
		if len(numbers) > 0 {
			known = fmt.Errorf("there are %s", strings.Join(numbers, ", "))
		}
	})
	if err == nil && known != nil {
		return fmt.Errorf("no breakpoint %d: %w", number, known)
	}
	return err
}

var _ control.Breaker = (*Cluster)(nil)
