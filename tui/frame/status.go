package frame

import (
	"fmt"
	"strings"
	"time"

	"kviz/cluster/control"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// Status is what the top line says: what it is, when we are, how fast, how well.
type Status struct {
	Recording string        // the name of the recording; "" for a cluster
	Name      string        // of the run, where there are several
	Left      *control.Fork // where it left another
	Boot      string        // how far the start of the cluster is; "" when it is over
	Failed    error         // why it could not start
	Now       time.Duration
	Speed     float64
	Live      bool
	Playing   bool // through the past
	Clock     control.Clock
	State     *view.State
}

// drawBar draws the status line. What is at its right, the leader and the quorum, has
// its place before the faults: it is during a fault that they matter.
func (f *Frame) drawBar(a grid.Area, s Status) {
	a.Clear()
	bar := grid.Fresh
	if f.look.Name == "none" || f.look.Name == "16" {
		bar = 0 // there it would be an underline
	}
	for x := 0; x < a.W(); x++ {
		a.Put(x, 0, ' ', theme.Text|bar)
	}
	x := -1
	put := func(text string, st grid.Style) { x = a.Text(x+2, 0, text, st|bar) }
	put("kviz", theme.Title|grid.Bold)
	put(s.cluster(a.W()), theme.Muted)
	if s.Boot != "" {
		put("◐ "+s.Boot, theme.Busy)
		return
	}
	put(words.Clock(s.Now), theme.Text)
	put(words.Speed(s.Speed), theme.Number)
	x = a.Text(x, 0, s.behind(a.W()), theme.Warn|bar)
	state, st := s.clock(a.W())
	put(state, st)
	if last := s.State.Last; !last.IsZero() {
		put("#"+last.String(), theme.Event|grid.Bold)
	}
	if n := s.Clock.Waiting; n > 0 {
		put(words.Count(n, "request")+" waiting", theme.Warn)
	}
	meter, st := s.quorum(a.W() - x - 2)
	x = a.Fit(x, 0, a.W()-x-grid.Width(meter)-2, s.faults(a.W()-x-grid.Width(meter)-3), theme.Bad|bar)
	a.Right(a.W()-1, 0, meter, st|bar)
}

func (s Status) cluster(width int) string {
	switch {
	case s.Left != nil && width >= 100:
		return fmt.Sprintf("%s, left %s at #%s", s.Name, s.Left.Parent, s.Left.At)
	case s.Name != "" && s.Recording == "":
		return s.Name
	}
	if s.Recording != "" {
		return "recording " + s.Recording
	}
	r := s.State.Run
	if r.Seed == 0 && r.Members == 0 {
		return "cluster"
	}
	if width < 100 {
		return fmt.Sprintf("seed %d", r.Seed)
	}
	nodes := max(r.Nodes, len(s.State.Nodes())) // some may have joined
	members := r.Members
	if all, present := s.State.Store.Size(); all >= members { // else some are still to start
		members = present
	}
	return fmt.Sprintf("%s, %s · seed %d", words.Count(members, "member"), words.Count(nodes, "node"), r.Seed)
}

// behind says beside the speed that virtual time falls behind it: the fold of the newest
// event knows, and there alone it is true.
func (s Status) behind(width int) string {
	c := s.State.Clock
	if c.Behind == "" || s.Recording != "" || !s.Live || s.Clock.Paused {
		return ""
	}
	why := c.Behind
	if width < 110 {
		why = why[strings.LastIndex(why, " ")+1:]
	}
	digits := 2
	for x := c.Actual; x >= 10 && digits > 0; x /= 10 {
		digits--
	}
	return fmt.Sprintf(" %.*fx: %s", digits, c.Actual, why)
}

// clock is the word for the clock.
func (s Status) clock(width int) (string, grid.Style) {
	switch {
	case s.Clock.Ended != nil:
		return "✗ ENDED " + s.Clock.Ended.Error(), theme.Bad | grid.Bold
	case s.Failed != nil:
		return "✗ " + s.Failed.Error(), theme.Bad | grid.Bold
	case s.Playing:
		return "▶ REPLAY", theme.Past | grid.Bold
	case !s.Live:
		return "◀ PAST", theme.Past | grid.Bold
	case s.Clock.Paused && s.Clock.Why != "" && width >= 110:
		return "‖ PAUSED (" + s.Clock.Why + ")", theme.Warn | grid.Bold
	case s.Clock.Paused:
		return "‖ PAUSED", theme.Warn | grid.Bold
	}
	return "▶ RUNNING", theme.Good | grid.Bold
}

// faults names what is broken, or counts it where the names do not fit.
func (s Status) faults(room int) string {
	faults := s.State.Faults()
	if len(faults) == 0 {
		return ""
	}
	var names strings.Builder
	for _, f := range faults {
		names.WriteString("  ! " + f.Fault.Fault + " " + f.Target)
	}
	if grid.Width(names.String()) <= room {
		return names.String()
	}
	if all := fmt.Sprintf("  ! %d broken", len(faults)); grid.Width(all) <= room {
		return all
	}
	return fmt.Sprintf("  !%d", len(faults))
}

// quorum is the leader, or that there is none, and the quorum in so many columns, with room for a count of
// faults; where that is too little the leader alone, for a lost quorum has none.
func (s Status) quorum(room int) (string, grid.Style) {
	q := pane.Known(s.State)
	meter, st := pane.Quorum(q), theme.Good
	if meter == "" {
		return "", 0
	}
	lead := ""
	switch name := s.State.Store.Leader; {
	case !q.OK():
		st = theme.Bad | grid.Bold
	case name == "":
		lead, st = "☆ no leader  ", theme.Warn|grid.Bold
	}
	if name := s.State.Store.Leader; name != "" {
		lead = "★ " + name + "  "
	}
	count := 0
	if n := len(s.State.Faults()); n > 0 {
		count = grid.Width(fmt.Sprintf("  !%d", n)) + 1
	}
	short := fmt.Sprintf("%d/%d", q.Have, q.Total)
	if !q.OK() {
		short += " NO"
	}
	for _, text := range []string{lead + meter, lead + short, short} {
		if grid.Width(text) <= room-count {
			return text, st
		}
	}
	return "", 0
}
