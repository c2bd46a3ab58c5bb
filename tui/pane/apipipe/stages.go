package apipipe

import (
	"fmt"
	"slices"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
)

func drawStages(a grid.Area, f *pane.Frame, r *view.Request, x0, cols int) {
	stages := trace.Stages()
	reached := -1
	for i, name := range stages {
		runs := r.Stage(name)
		if len(runs) == 0 {
			continue
		}
		reached = i
		glyph, st := '✓', theme.Good
		for _, run := range runs {
			if len(run.Diff) > 0 {
				glyph, st = '±', theme.Added
			}
			if run.Verdict == "refuse" {
				glyph, st = '✗', theme.Bad|grid.Bold
			}
			if f.Fresh(run.Event) {
				st |= grid.Fresh
			}
		}
		a.Put(x0+i*cols, 0, glyph, st)
	}
	sent := drawSent(a, r, x0, cols)
	for i := range stages {
		if !sent && i > reached && !(i == reached+1 && !r.Done) {
			a.Put(x0+i*cols, 0, '·', theme.Line)
		}
	}
	if !r.Done && !turnedDown(r) { // the last stage has its mark when the store has answered
		at := min(reached+1, len(stages)-1)
		if f.S.Stands(r) == trace.StageStorage {
			at = slices.Index(stages, trace.StageStorage)
		}
		a.Put(x0+at*cols, 0, '▸', theme.Busy|grid.Bold)
	}
	switch {
	case r.Done && r.Code >= 400:
		a.Right(a.W(), 0, fmt.Sprint(r.Code), theme.Bad|grid.Bold)
	case r.Done:
		a.Right(a.W(), 0, fmt.Sprint(r.Code), theme.Good)
	default:
		a.Right(a.W(), 0, "…", theme.Busy)
	}
}

// drawSent draws, in the place of the stages after authorization, that the request was
// sent on to the server of an aggregated API, if it was.
func drawSent(a grid.Area, r *view.Request, x0, cols int) bool {
	sent := r.Stage(trace.StageAggregator)
	if len(sent) == 0 {
		return false
	}
	glyph, st := "→ ", theme.Good
	if sent[0].Verdict == "refuse" {
		glyph, st = "✗ ", theme.Bad|grid.Bold
	}
	after := slices.Index(trace.Stages(), trace.StageAuthorization) + 1
	a.Fit(x0+after*cols, 0, (len(trace.Stages())-after)*cols-1, glyph+sent[0].By, st)
	return true
}
