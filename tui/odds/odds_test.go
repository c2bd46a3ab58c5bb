package odds_test

import (
	"strings"
	"testing"

	"kviz/cluster/trace"
	"kviz/tui/grid"
	"kviz/tui/odds"
)

func curve(of ...int) *odds.Curve {
	c := &odds.Curve{}
	for i, n := range of {
		c.Chances = append(c.Chances, odds.Chance{Event: &trace.Event{ID: trace.ID{Seq: uint64(10 * (i + 1))}}, True: n, Of: 10})
	}
	return c
}

func TestTheCurveSaysWhenItBecameInevitable(t *testing.T) {
	for says, c := range map[string]*odds.Curve{
		"from #30 on it could not be avoided any more": curve(1, 6, 10, 10),
		"it came true in every branch, from #10 on":    curve(10, 10),
		"it came true in no branch":                    curve(0, 0, 0),
		"it was most probable at #20: 0.60":            curve(1, 6, 3),
		"nothing is known yet":                         curve(),
		"from #40 on it could not be avoided any more": curve(10, 10, 2, 10),
	} {
		if got := c.Says(); got != says {
			t.Errorf("%v says %q, not %q", c.Chances, got, says)
		}
	}
	from, to := curve(1, 2, 9, 10).Steepest()
	if from.ID.Seq != 20 || to.ID.Seq != 30 {
		t.Errorf("it rises most from #%s to #%s", from.ID, to.ID)
	}
}

// Each event stands in its column, as high until the next.
func TestTheCurveStandsUnderTheTimeline(t *testing.T) {
	g := grid.New(60, 1)
	curve(0, 5, 10).Draw(g.Area(), func(e *trace.Event) int { return int(e.ID.Seq/10)*3 - 1 })
	if got := strings.TrimRight(g.Plane(), "\n"); got != "  ▁▁▁▅▅▅█ from #30 on it could not be avoided any more" {
		t.Errorf("it is %q", got)
	}
}
