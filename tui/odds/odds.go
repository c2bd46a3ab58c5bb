// Package odds is the curve of how probable something became: for some events of a run, in
// how many of the branches that start there it comes true. It is drawn under the timeline.
//
// Start reading at [Curve].
package odds

import (
	"fmt"
	"time"

	"kviz/cluster/trace"
	"kviz/tui/grid"
	"kviz/tui/theme"
)

// Curve is a question and its answer.
type Curve struct {
	Expr    string
	Seeds   int           // branches at each event
	Within  time.Duration // how long each of them goes on
	Chances []Chance      // in the order of the events
}

// Chance is how often it came true in the branches that left at one event.
type Chance struct {
	Event    *trace.Event
	True, Of int
}

// Share is the part in which it came true, from 0 to 1.
func (c Chance) Share() float64 { return float64(c.True) / float64(max(c.Of, 1)) }

// Inevitable is the first event from which it came true in every branch; nil if there is
// none.
func (c *Curve) Inevitable() *trace.Event {
	var first *trace.Event
	for i := len(c.Chances) - 1; i >= 0 && c.Chances[i].True == c.Chances[i].Of; i-- {
		first = c.Chances[i].Event
	}
	return first
}

// Steepest are the two events between which it became most more probable, or less; nil where
// there are not two.
func (c *Curve) Steepest() (from, to *trace.Event) {
	most := 0.0
	for i := 1; i < len(c.Chances); i++ {
		by := c.Chances[i].Share() - c.Chances[i-1].Share()
		if by = max(by, -by); by > most {
			most, from, to = by, c.Chances[i-1].Event, c.Chances[i].Event
		}
	}
	return from, to
}

// Says is the curve in a sentence.
func (c *Curve) Says() string {
	n := len(c.Chances)
	if n == 0 {
		return "nothing is known yet"
	}
	if e := c.Inevitable(); e == c.Chances[0].Event && e != nil {
		return fmt.Sprintf("it came true in every branch, from #%s on", e.ID)
	} else if e != nil {
		return fmt.Sprintf("from #%s on it could not be avoided any more", e.ID)
	}
	most := c.Chances[0]
	for _, one := range c.Chances {
		if one.Share() > most.Share() {
			most = one
		}
	}
	if most.True == 0 {
		return "it came true in no branch"
	}
	return fmt.Sprintf("it was most probable at #%s: %.2f", most.Event.ID, most.Share())
}

var blocks = []rune("▁▂▃▄▅▆▇█")

// Draw draws the curve into a row, each event at its column on the timeline (-1: it is not
// there), as high until the next.
func (c *Curve) Draw(a grid.Area, column func(*trace.Event) int) {
	a.Clear()
	sure := c.Inevitable()
	style := theme.Warn
	first, last := -1, -1
	for i, one := range c.Chances {
		if one.Event == sure {
			style = theme.Bad | grid.Bold
		}
		from := column(one.Event)
		if from < 0 {
			continue
		}
		to := from + 1
		if i+1 < len(c.Chances) {
			to = max(column(c.Chances[i+1].Event), to)
		}
		block := blocks[int(one.Share()*float64(len(blocks)-1)+0.5)]
		for x := from; x < to; x++ {
			a.Put(x, 0, block, style)
		}
		if last = to; first < 0 {
			first = from
		}
	}
	left, right := first-2, a.W()-last-2
	for _, says := range []string{"how probable: " + c.Says(), c.Says(), c.short()} {
		switch w := grid.Width(says); {
		case w <= right:
			a.Text(last+1, 0, says, theme.Muted)
			return
		case w <= left:
			a.Right(first-1, 0, says, theme.Muted)
			return
		}
	}
}

// short is the curve in two words.
func (c *Curve) short() string {
	if e := c.Inevitable(); e != nil {
		return "sure from #" + e.ID.String()
	}
	return "never sure"
}
