package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kviz/cluster/control"
	"kviz/cluster/expr"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// breakpoints are expressions at which the cluster comes to stand.
type breakpoints struct {
	k     *sim.Kernel
	clock *clock
	asks  *expressions

	list   []*breakpoint // kernel's goroutine
	newest int           // its number
}

// breakpoint is a stop that stays.
type breakpoint struct {
	control.Breakpoint
	stop *sim.Stop
}

// Break sets a breakpoint. It changes nothing but when the cluster stands, so a
// run with breakpoints has the trace of one without.
func (b *breakpoints) Break(src string) (control.Breakpoint, error) {
	src = strings.TrimSpace(src)
	p, err := compile(src)
	if err != nil {
		return control.Breakpoint{}, err
	}
	var set control.Breakpoint
	err = b.k.Do(func() {
		b.newest++
		one := &breakpoint{Breakpoint: control.Breakpoint{Number: b.newest, Expr: src}}
		one.stop = &sim.Stop{At: b.breaks(p), Hit: func(e *trace.Event) {
			one.Hits++
			b.clock.stands(fmt.Sprintf("breakpoint %d at #%s", one.Number, e.ID))
		}}
		b.list = append(b.list, one)
		b.k.AddStop(one.stop)
		set = one.Breakpoint
	})
	return set, err
}

// breaks says after which events a breakpoint makes the cluster stand. What it
// says of the clock itself is not asked about, or it would never move again.
func (b *breakpoints) breaks(p *expr.Program) func(*trace.Event) bool {
	ask := func(e *trace.Event) bool {
		if !p.Mentions("event") {
			e = nil
		}
		return b.asks.holds(p, e)
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
func (b *breakpoints) Breakpoints() []control.Breakpoint {
	var list []control.Breakpoint
	_ = b.k.Do(func() { // a cluster that has ended has none
		for _, one := range b.list {
			list = append(list, one.Breakpoint)
		}
	})
	return list
}

// Unbreak removes a breakpoint.
func (b *breakpoints) Unbreak(number int) error {
	known := errors.New("there are none")
	err := b.k.Do(func() {
		var numbers []string
		for i, one := range b.list {
			if one.Number == number {
				b.k.RemoveStop(one.stop)
				b.list = slices.Delete(b.list, i, i+1)
				known = nil
				return
			}
			numbers = append(numbers, fmt.Sprint(one.Number))
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

// Until runs until the expression holds after an event, then stands.
func (b *breakpoints) Until(src string) error {
	p, err := compile(src)
	if err != nil {
		return err
	}
	return b.clock.change("running until "+src, func() {
		b.k.AddStop(&sim.Stop{Once: true, At: func(e *trace.Event) bool { return b.asks.holds(p, e) }, Hit: func(e *trace.Event) {
			b.clock.stands(fmt.Sprintf("#%s: %s", e.ID, src))
		}})
		b.k.Resume()
	})
}
