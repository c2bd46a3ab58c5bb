package apipipe

import (
	"fmt"
	"time"

	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// timing is when a stage ran, within the time of its request.
type timing struct {
	view.Span
	from, to time.Duration // of the request
}

// draw draws how long the stage took at the right end of a row, with a bar where there is room,
// and says where what stands before them has to end. What took no virtual time has neither.
func (t timing) draw(s *pane.Sheet, y int) (end int) {
	w := s.W()
	bar := 0
	if w >= 100 {
		bar = 24
	} else if w >= 72 {
		bar = 12
	}
	if w < 48 {
		return w
	}
	end = w - 7
	if bar > 0 {
		end -= bar + 1
	}
	if t.Took() <= 0 {
		return end
	}
	a := s.Row(y)
	a.Right(end+7, 0, words.Dur(t.Took()), theme.Number)
	if bar == 0 || t.to <= t.from {
		return end
	}
	at := func(d time.Duration) int { return int(int64(d-t.from) * int64(bar-1) / int64(t.to-t.from)) }
	for i := at(t.From); i <= at(t.To); i++ {
		a.Put(end+8+i, 0, '▓', theme.Term0)
	}
	return end
}

// drawLongest says what took long of a request that is answered.
func drawLongest(s *pane.Sheet, y int, r *view.Request, spans []view.Span) int {
	long, ok := view.Longest(spans)
	if !r.Done || !ok || r.Took <= 0 {
		return y
	}
	a := s.Row(y)
	x := a.Text(0, 0, "what took long: ", theme.Muted)
	x = a.Text(x, 0, long.What, theme.Name)
	x = a.Text(x, 0, " "+words.Dur(long.Took()), theme.Number|grid.Bold)
	x = a.Text(x, 0, fmt.Sprintf(", %d %% of %s", int64(long.Took())*100/int64(r.Took), words.Dur(r.Took)), theme.Text)
	a.Fit(x, 0, max(s.W()-x, 0), "; a stage without a time takes none of its own", theme.Muted)
	s.Hot(0, y, s.W(), pane.Subject{
		ID: requestID(r) + "/long", Event: long.Event,
		Words: fmt.Sprintf("Of %s of virtual time the stage %s took %s. Stages without a time compute, and their time is modelled with the one before.", words.Dur(r.Took), long.What, words.Dur(long.Took())),
	})
	return y + 1
}
