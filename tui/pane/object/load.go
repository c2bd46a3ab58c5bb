package object

import (
	"fmt"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// drawLoad draws what kviz load has set for an object, for a pod also through its workload, and for an autoscaler through its target.
func drawLoad(s *pane.Sheet, f *pane.Frame, y int, o *view.Object) int {
	of := o
	if target, _ := f.S.ScaleTarget(o); target != nil {
		of = target
	}
	list := f.S.LoadOn(of)
	if len(list) == 0 {
		return y
	}
	note := "as kviz load sets it"
	if of != o {
		note = "of " + of.Ref.String()
	}
	y = s.Heading(y, "load", note)
	nameW := 12
	for _, l := range list {
		nameW = max(nameW, min(grid.Width(l.Words()), 24))
	}
	for i, l := range list {
		now, means := l.Text(f.S.At), l.Meaning()
		switch {
		case of.Resource == "pods" && l.Shared():
			part, among := f.S.Part(l, of)
			means = fmt.Sprintf("of %s, which %s of %s share", now, words.Count(among, "Ready pod"), l.Target())
			now = part
		case l.Shared():
			n := view.Sharing(of)
			means = "shared among " + words.Count(n, "Ready pod")
			if n > 0 {
				means += ", " + l.Curve.Unit().Text(l.At(f.S.At)/int64(n)) + " each"
			}
		}
		if l.Container != "" {
			means = "container " + l.Container + " " + means
		}
		spans := []grid.Span{
			{Text: grid.Pad(grid.Cut(l.Words(), nameW), nameW) + " ", Style: theme.Name},
			{Text: grid.PadLeft(now, 8) + "  ", Style: theme.Number | grid.Bold},
			{Text: means, Style: theme.Muted},
		}
		changes := l.Curve.Span() > 0
		if changes {
			spans = append(spans, grid.Span{Text: "  " + l.Curve.String(), Style: theme.Text})
		}
		s.Line(y, pane.Subject{
			ID: fmt.Sprintf("load/%d", i), Event: l.Event, Kind: trace.LoadSet, Copy: l.Curve.String(),
			Words: fmt.Sprintf("Load of %s, set %s ago: %s %s, now %s, %s.", l.Target(), words.Dur(f.S.At-l.Since), l.Words(), l.Curve, l.Text(f.S.At), means),
		}, spans...)
		y++
		if changes {
			y = drawCurve(s, f, y, l)
		}
	}
	return y
}

// drawCurve draws a figure as it was for a while, and as it will be.
func drawCurve(s *pane.Sheet, f *pane.Frame, y int, l *view.Load) int {
	const left = 13
	half := min(max((s.W()-left-20)/2, 8), 30)
	around := max(l.Curve.Span(), time.Minute)
	past, coming := l.Over(f.S.At-around, f.S.At, half), l.Over(f.S.At, f.S.At+around, half)
	most := int64(1)
	for _, p := range append(past, coming...) {
		most = max(most, p.Value)
	}
	a := s.Row(y)
	put := func(x int, list []view.LoadPoint, st grid.Style) {
		for i, p := range list {
			if p.At >= l.Since {
				a.Put(x+i, 0, grid.Level(int(p.Value*1000/most), 1000), st)
			}
		}
	}
	a.Right(left-1, 0, "−"+words.Dur(around), theme.Muted)
	put(left, past, theme.Muted)
	a.Put(left+half, 0, '┃', theme.Title|grid.Bold)
	put(left+half+1, coming, theme.Accent)
	a.Text(left+2*half+2, 0, "+"+words.Dur(around), theme.Muted)
	return y + 1
}
