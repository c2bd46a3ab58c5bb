package nodes

import (
	"fmt"
	"strings"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// drawSteps draws one pod's containers, probes and steps.
func drawSteps(s *pane.Sheet, f *pane.Frame, y int, p *view.NodePod) {
	y = s.Heading(y, p.Pod, p.Address)
	for _, c := range p.Containers() {
		y = drawContainer(s, f, y, p, c)
	}
	for _, pr := range p.Probes() {
		y = drawProbe(s, f, y, p, pr)
	}
	steps := p.Steps()
	if len(steps) == 0 {
		return
	}
	span := stretch(steps, f.S.At)
	y = s.Heading(y, "steps", "newest first, over "+words.Dur(span.to-span.from))
	for i := len(steps) - 1; i >= 0; i-- {
		drawStep(s, f, y, p, steps[i], span)
		y++
	}
}

// inPod is the subject of something in a pod.
func inPod(p *view.NodePod, what string, event trace.ID, kind trace.Kind, say string) pane.Subject {
	return pane.Subject{ID: "pod/" + p.Pod + "#" + what, Pod: p.Pod, Node: p.Node, Event: event, Kind: kind, Words: say}
}

func drawContainer(s *pane.Sheet, f *pane.Frame, y int, p *view.NodePod, c view.Container) int {
	g, st := containerMark(c.ContainerState)
	if f.Fresh(c.Event) {
		st |= grid.Fresh
	}
	text := c.State
	if c.Reason != "" {
		text += " " + c.Reason
	}
	if c.State == "terminated" || c.ExitCode != 0 {
		text += fmt.Sprintf(", exit code %d", c.ExitCode)
	}
	if c.Restarts > 0 {
		text += ", " + words.Count(int(c.Restarts), "restart")
	}
	text += ", for " + words.Dur(f.S.At-c.Since)
	name := c.Container
	if c.Init {
		name += " (init)"
	}
	a := s.Row(y)
	a.Put(0, 0, g, st)
	x := a.Text(2, 0, "container "+name+" ", theme.Name)
	a.Fit(x, 0, s.W()-x, text, st&0xff)
	on := inPod(p, "c/"+c.Container, c.Event, trace.ContainerChange, fmt.Sprintf("Container %s: %s, since %s.", name, text, words.Clock(c.Since)))
	on.Target = "pod/" + p.Pod
	s.Hot(0, y, s.W(), on)
	if assumed := p.Assumed(c.Container); assumed != "" {
		y++
		s.Row(y).Fit(2, 0, s.W()-2, "assumed "+assumed, theme.Warn)
		s.Hot(0, y, s.W(), inPod(p, "a/"+c.Container, c.Event, trace.ContainerChange, fmt.Sprintf("Container %s is assumed %s.", name, assumed)))
	}
	return y + 1
}

func drawProbe(s *pane.Sheet, f *pane.Frame, y int, p *view.NodePod, pr view.ProbeState) int {
	mark, st, text := "✓", theme.Good, "succeeds"
	if !pr.OK {
		mark, st = "✗", theme.Bad
		text = fmt.Sprintf("fails, %d of %d in a row: %s", pr.Failures, pr.Threshold, pr.Output)
	}
	if f.Fresh(pr.Event) {
		st |= grid.Fresh
	}
	a := s.Row(y)
	x := a.Text(0, 0, mark+" "+pr.Probe.Probe+" probe ", st)
	a.Fit(x, 0, s.W()-x, pr.Container+": "+text, theme.Muted)
	s.Hot(0, y, s.W(), inPod(p, "p/"+pr.Container+pr.Probe.Probe, pr.Event, trace.ProbeResult, fmt.Sprintf("The %s probe of %s %s", pr.Probe.Probe, pr.Container, text)))
	return y + 1
}

// times is a stretch of virtual time.
type times struct{ from, to time.Duration }

// ran is when a step ran: its event comes when it ends, but a back-off's when it begins, and of
// that no more is drawn than has passed.
func ran(st view.Step, now time.Duration) times {
	if st.Kind == trace.RestartBackoff {
		return times{st.At, max(min(st.At+st.Took, now), st.At)}
	}
	return times{st.At - st.Took, st.At}
}

func stretch(steps []view.Step, now time.Duration) times {
	t := ran(steps[0], now)
	for _, st := range steps {
		r := ran(st, now)
		t.from, t.to = min(t.from, r.from), max(t.to, r.to)
	}
	return t
}

// barW is how wide the bars are that say when a step ran.
func barW(w int) int {
	if w >= 100 {
		return 32
	}
	if w >= 72 {
		return 16
	}
	return 0
}

// drawBar draws when a step began and ended within the stretch.
func drawBar(a grid.Area, x, w int, step, t times, style grid.Style) {
	at := func(d time.Duration) int {
		if t.to == t.from {
			return 0
		}
		return int(int64(d-t.from) * int64(w-1) / int64(t.to-t.from))
	}
	for i := 0; i < w; i++ {
		a.Put(x+i, 0, '·', theme.Line)
	}
	for i := at(step.from); i <= at(step.to); i++ {
		a.Put(x+i, 0, '▓', style)
	}
}

// who are the parts that a step belongs to, and the colour of its bar.
func who(k trace.Kind) (string, grid.Style) {
	switch k {
	case trace.CRICall:
		return "CRI", theme.Term1
	case trace.CNICall:
		return "CNI", theme.Term2
	case trace.CSICall:
		return "CSI", theme.Term2
	case trace.ProbeResult:
		return "probe", theme.Term3
	case trace.RestartBackoff:
		return "kubelet", theme.Warn
	}
	return "kubelet", theme.Term0
}

func drawStep(s *pane.Sheet, f *pane.Frame, y int, p *view.NodePod, t view.Step, span times) {
	st := theme.Text
	if f.Fresh(t.Event) {
		st |= grid.Fresh
	}
	part, bar := who(t.Kind)
	took := ""
	if t.Took > 0 {
		took = words.Dur(t.Took)
	}
	rest, rst := t.Detail, theme.Muted
	if t.Error != "" {
		st, bar, rest, rst = theme.Bad|st&grid.Fresh, theme.Bad, "✗ "+t.Error, theme.Bad
	}
	w := s.W()
	if n := barW(w); n > 0 {
		w -= n + 1
		drawBar(s.Row(y), w+1, n, ran(t, f.S.At), span, bar)
	}
	a := s.Row(y).Sub(0, 0, w, 1)
	a.Right(w, 0, took, theme.Number)
	a = a.Sub(0, 0, w-7, 1)
	x := a.Text(0, 0, grid.PadLeft("#"+t.Event.String(), 6)+" ", theme.Event)
	x = a.Text(x, 0, fmt.Sprintf("%-7s ", part), bar)
	x = a.Text(x, 0, t.What, st)
	if t.Container != "" {
		x = a.Text(x, 0, " "+t.Container, theme.Name)
	}
	if rest != "" {
		a.Spans(x, 0, grid.Span{Text: " " + rest, Style: rst})
	}
	s.Hot(0, y, s.W(), inPod(p, t.Event.String(), t.Event, t.Kind, strings.TrimSpace(fmt.Sprintf("%s, %s: %s %s %s %s", words.Clock(t.At), part, t.What, t.Container, rest, took))))
}
