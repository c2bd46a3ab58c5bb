package scheduler

import (
	"fmt"
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
)

// asks says what each extension point asks its plugins.
var asks = map[string]string{
	"PreEnqueue": "may the pod enter the active queue?",
	"QueueSort":  "which pod of the active queue is next?",
	"PreFilter":  "is there anything to find out before the nodes are judged?",
	"Filter":     "may the pod run on this node?",
	"PostFilter": "no node fits: can room be made?",
	"PreScore":   "is there anything to find out before the nodes are rated?",
	"Score":      "how good is this node, from 0 to 100?",
	"Reserve":    "the node is chosen: what does the pod use from now on?",
	"Permit":     "may the pod be bound, or has it to wait?",
	"PreBind":    "what must be done before the binding is written?",
	"Bind":       "write the binding",
	"PostBind":   "the binding is written: who wants to know?",
}

// profileName says with which profile a cycle ran, shortly and in a sentence.
func profileName(c *view.Cycle) (text, means string) {
	p, file := c.Profile()
	if file && c.In != "" {
		return "of a file", fmt.Sprintf("Profile %s serves this pod; it is that of its scheduler's configuration file.", p.Name)
	}
	if file {
		return p.Name + " of a file", fmt.Sprintf("Profile %s serves this pod; a configuration file is in force.", p.Name)
	}
	return p.Name + ", no file", fmt.Sprintf("Profile %s serves this pod. No configuration file is in force, so it has upstream's plugins and weights.", p.Name)
}

// drawPlugins is the view of the profile: what a file changed, and its plugins by extension point.
func (p *Scheduler) drawPlugins(s *pane.Sheet, f *pane.Frame) {
	c := p.cycle(f)
	if c == nil {
		c = f.S.Scheduler.Next()
	}
	profile, file := c.Profile()
	y := 0
	if file {
		y = s.Heading(y, "profile "+profile.Name, "what the configuration file changed")
		y = drawChanged(s, y, c, profile)
	} else {
		y = s.Heading(y, "profile "+profile.Name, "no configuration file: upstream's defaults")
	}
	if file {
		y = s.Heading(y, "plugins", "by extension point, in the order in which they run")
	}
	for _, point := range points {
		if f.Match(append(strings.Fields(atPoint(profile, point)), point)...) {
			y = drawPoint(s, y, profile, point)
		}
	}
	if len(profile.Absent) > 0 {
		s.Say(y, "Not simulated, so without effect: "+strings.Join(profile.Absent, ", ")+".", theme.Muted)
	}
}

// drawChanged draws what the file changed of the profile against upstream's defaults.
func drawChanged(s *pane.Sheet, y int, c *view.Cycle, p *trace.SchedProfile) int {
	var all []string
	for _, point := range points {
		if text := changedAt(p, point); text != "" {
			all = append(all, point+": "+text)
		}
	}
	if n := p.Percentage; n > 0 {
		all = append(all, fmt.Sprintf("percentageOfNodesToScore %d", n))
	}
	all = append(append(all, c.Changed()...), p.Args...)
	if len(all) == 0 {
		return s.Say(y, "Nothing: this profile has upstream's plugins, weights and arguments.", theme.Muted)
	}
	for _, text := range all {
		for i, l := range grid.Lines("~ "+text, max(s.W()-2, 20)) {
			s.Row(y).Text(min(i*2, 2), 0, l, theme.Accent)
			y++
		}
	}
	return y
}

// changedAt says how the plugins of an extension point differ from upstream's; "" if they do not.
func changedAt(p *trace.SchedProfile, point string) string {
	all, moved := view.ComparePoint(p, point)
	var parts []string
	for _, pl := range all {
		switch {
		case pl.Gone:
			parts = append(parts, "without "+pl.Name)
		case pl.Added:
			parts = append(parts, pl.String()+" added")
		case pl.Was != "":
			parts = append(parts, pl.String())
		}
	}
	if moved {
		parts = append(parts, "in another order")
	}
	return strings.Join(parts, ", ")
}

func atPoint(p *trace.SchedProfile, point string) string {
	for _, at := range p.Points {
		if at.Point == point {
			return strings.Join(at.Plugins, " ")
		}
	}
	return ""
}

// drawPoint draws one extension point and its plugins, as many in a row as there is room for.
func drawPoint(s *pane.Sheet, y int, p *trace.SchedProfile, point string) int {
	const in = 12
	all, _ := view.ComparePoint(p, point)
	s.Row(y).Text(0, 0, point, theme.Title)
	s.Hot(0, y, len(point), pane.Subject{ID: "point/" + point, Kind: trace.SchedPoint, Words: point + ": " + asks[point]})
	if len(all) == 0 {
		s.Row(y).Text(in, 0, "no plugin", theme.Muted)
		return y + 1
	}
	x := in
	for _, pl := range all {
		text, st := pl.Name, theme.Text
		if pl.Weight != "" && !pl.Gone {
			text += " ×" + pl.Weight
		}
		switch {
		case pl.Gone:
			text, st = "-"+pl.Name, theme.Removed
		case pl.Added:
			text, st = "+"+text, theme.Added
		case pl.Was != "":
			text, st = "~"+text+" (was ×"+pl.Was+")", theme.Accent
		}
		if x > in && x+grid.Width(text) > s.W() {
			x, y = in, y+1
		}
		x = s.Row(y).Text(x, 0, text, st) + 2
	}
	return y + 1
}
