package store

import (
	"fmt"
	"strings"
	"time"

	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// steps are how much virtual time a column of the chart can stand for.
var steps = []time.Duration{time.Second, 5 * time.Second, 15 * time.Second, time.Minute}

// cascadeLabel is how wide the chart's labels are.
const cascadeLabel = 17

// drawCascade is the chart of how slowness climbs from the disks to the work
// queues: floor above floor over the same time, the disks at the bottom of the
// house and at the top of the chart, as causes come before effects.
func (p *Store) drawCascade(s *pane.Sheet, f *pane.Frame, y int) {
	step := steps[p.step]
	c := f.S.Cascade(max(s.W()-cascadeLabel, 8), step)
	y = s.Heading(y, "cascade", fmt.Sprintf("each column %s of virtual time (S); each row to its own peak", words.Dur(step)))
	tall := min(max((f.Rows-y-4)/len(c.Floors), 2), 6)
	for i := range c.Floors {
		drawFloor(s, f, y, tall, c, &c.Floors[i])
		y += tall
	}
	y = drawAxis(s, f, y, c)
	if len(f.S.Store.Members()) == 0 {
		y = s.Say(y, "The bare store has no disks and commits at once: what it takes is modelled.", theme.Muted)
	}
	y = s.Say(y, risen(c), theme.Text)
	s.Legend(y, [2]string{"▄", "when the column ended"}, [2]string{"╎", "for a moment within it"}, [2]string{"▼", "high from here on"})
}

// drawFloor draws one measure, tall rows high.
func drawFloor(s *pane.Sheet, f *pane.Frame, y, tall int, c *view.Cascade, of *view.Floor) {
	area := s.Rows(y, tall)
	area.Text(0, 0, of.Name, theme.Name)
	area.Fit(1, 1, cascadeLabel-2, "▔ "+of.Level(of.Peak), theme.Muted)
	last := len(of.Values) - 1
	s.Hot(0, y, cascadeLabel-1, pane.Subject{
		ID: "floor/" + of.Name, Event: of.Events[last], Target: "store", Copy: of.Name,
		Words: fmt.Sprintf("%s is %s now, %s at most in this time: %s.", of.Name, of.Level(of.Values[last]), of.Level(of.Peak), of.Means),
	})
	for i, v := range of.Values {
		x, top := cascadeLabel+i, of.Top(i)
		if top == 0 {
			area.Put(x, tall-1, '▁', theme.Line)
			continue
		}
		said := of.Level(v)
		switch {
		case v >= of.High:
			drawColumn(area, x, tall, v, of.Peak, theme.Warn)
		case v > 0:
			drawColumn(area, x, tall, v, of.Peak, theme.Busy)
		}
		drawNeedle(area, x, tall, v, top, of.Peak)
		if of.Tops != nil {
			said += " at its end, " + of.Level(top) + " at most"
		}
		s.Hot(x, y+tall-1, 1, pane.Subject{
			ID: fmt.Sprintf("floor/%s/%d", of.Name, c.At(i)/time.Second), Event: of.Events[i], Target: "store",
			Words: fmt.Sprintf("%s at %s: %s.", of.Name, moment(c.At(i)), said),
		})
	}
	if of.Rose >= 0 {
		area.Put(cascadeLabel+of.Rose, 0, '▼', theme.Bad|grid.Bold)
	}
}

// drawNeedle draws how high something was for a moment, on top of the column of v that
// it was in the end; nothing where that is less than half a row more.
func drawNeedle(area grid.Area, x, tall int, v, top, peak int64) {
	row := func(n int64) int { return int((n*int64(tall) + peak/2) / peak) }
	to := row(top)
	if v == 0 {
		to = max(to, 1)
	}
	for r := row(v); r < to; r++ {
		area.Put(x, tall-1-r, '╎', theme.Muted)
	}
}

// drawColumn draws a bar tall rows high where the peak is.
func drawColumn(area grid.Area, x, tall int, v, peak int64, st grid.Style) {
	for row := range tall {
		part := v*int64(tall) - int64(row)*peak // in parts of a row's peak
		if part <= 0 {
			return
		}
		area.Put(x, tall-1-row, grid.Level(int(min(part, peak)), int(peak)), st)
	}
}

// drawAxis is the time below the chart, and where disks were made slow.
func drawAxis(s *pane.Sheet, f *pane.Frame, y int, c *view.Cascade) int {
	a := s.Row(y)
	a.HLine(cascadeLabel, 0, s.W()-cascadeLabel, theme.Line)
	a.Text(0, 0, "virtual time", theme.Muted)
	n := len(c.Floors[0].Values)
	x := a.Text(cascadeLabel, 0, moment(c.From), theme.Muted)
	if end := moment(f.S.At); cascadeLabel+n-grid.Width(end) > x {
		a.Right(cascadeLabel+n, 0, end, theme.Muted)
	}
	for _, fault := range f.S.Faults() {
		col := c.Column(fault.Since)
		if fault.Fault.Fault != "slow" || !strings.HasPrefix(fault.Target, "member/") || col < 0 || col >= n {
			continue
		}
		a.Put(cascadeLabel+col, 0, '!', theme.Bad|grid.Bold)
		s.Hot(cascadeLabel+col, y, 1, pane.Subject{
			ID: "slowed/" + fault.Target, Event: fault.Event, Target: fault.Target,
			Words: fmt.Sprintf("Here %s was made slower by %s a write.", fault.Target, fault.Detail),
		})
	}
	return y + 1
}

// risen tells in which order the measures went up.
func risen(c *view.Cascade) string {
	if order := c.Order(moment); order != "" {
		return "▼ " + order
	}
	return "Nothing has risen in this time. Make the leader's disk slow (f on a member) and write something."
}

// moment is a time to the second.
func moment(at time.Duration) string {
	m, sec := int(at/time.Minute), int(at/time.Second)%60
	if m >= 60 {
		return fmt.Sprintf("%d:%02d:%02d", m/60, m%60, sec)
	}
	return fmt.Sprintf("%d:%02d", m, sec)
}
