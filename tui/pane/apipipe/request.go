package apipipe

import (
	"fmt"
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// turnedDown reports whether the last stage refused the request, so that it
// only waits for its answer.
func turnedDown(r *view.Request) bool {
	n := len(r.Stages)
	return n > 0 && r.Stages[n-1].Verdict == "refuse"
}

func latest(r *view.Request) trace.ID {
	if !r.Answered.IsZero() {
		return r.Answered
	}
	if n := len(r.Stages); n > 0 {
		return r.Stages[n-1].Event
	}
	return r.Received
}

func refOf(r *view.Request) trace.Ref {
	if r.Name == "" {
		return trace.Ref{}
	}
	return trace.Ref{Kind: r.Resource, Namespace: r.Namespace, Name: r.Name}
}

func describe(r *view.Request) string {
	asked := "asks"
	if strings.Contains(r.Server, "/") {
		asked = "asks " + r.Server
	}
	w := fmt.Sprintf("%s %s to %s %s", r.Client, asked, r.Verb, r.Path)
	switch {
	case r.Done && r.Refused != "":
		w += fmt.Sprintf(": refused by %s with %d. %s", r.Refused, r.Code, r.Message)
	case r.Done:
		w += fmt.Sprintf(": answered %d after %s.", r.Code, words.Dur(r.Took))
	case r.Reached != "":
		w += ": it has passed " + r.Reached + "."
	default:
		w += "."
	}
	return w
}

// drawDetail tells one request stage by stage.
func drawDetail(s *pane.Sheet, f *pane.Frame, y int, r *view.Request) int {
	y = s.Heading(y, r.Verb, r.Path)
	s.Row(y).Fit(0, 0, s.W(), "from "+r.Client+" as "+r.User+atServer(f, r.Server), theme.Muted)
	y++
	failed := r.Done && r.Code >= 400
	if failed { // first, for why it was refused is what people ask, and there may be little room
		y = drawAnswer(s, y, r, theme.Bad, refusal(r))
	}
	spans := r.Spans()
	y = drawLongest(s, y, r, spans)
	for i, run := range r.Stages {
		y = drawRun(s, f, y, fmt.Sprintf("%s/%d", requestID(r), i), run, timing{spans[i], r.At, spans[len(spans)-1].To})
	}
	if !r.Done {
		if f.S.Stands(r) == trace.StageStorage && !turnedDown(r) {
			y = s.Say(y, "▸ waits for the store to answer: a write is answered when a quorum of its members has it, a read when the leader has asked one", theme.Busy)
		}
		return y
	}
	if !failed {
		y = drawAnswer(s, y, r, theme.Good, fmt.Sprintf("answered %d in %s", r.Code, words.Dur(r.Took)))
		timing{spans[len(spans)-1], r.At, r.At + r.Took}.draw(s, y-1)
	}
	return y
}

// drawAnswer shows the client's answer.
func drawAnswer(s *pane.Sheet, y int, r *view.Request, st grid.Style, text string) int {
	lines := grid.Lines("⇒ "+text, s.W())
	for i, l := range lines {
		s.Row(y+i).Text(0, 0, l, st)
	}
	s.Hot(0, y, s.W(), pane.Subject{ID: requestID(r) + "/answer", Event: r.Answered, Kind: trace.RequestDone, Words: describe(r)})
	return y + len(lines)
}

// refusal is a failed answer in words, with the stage that gave it.
func refusal(r *view.Request) string {
	text := strings.TrimSuffix(fmt.Sprintf("answered %d %s", r.Code, r.Reason), " ")
	for _, run := range r.Stages {
		if run.Verdict == "refuse" {
			text += " at " + run.Stage.Stage
			break
		}
	}
	return text + ": " + r.Message
}

func drawRun(s *pane.Sheet, f *pane.Frame, y int, id string, run view.StageRun, t timing) int {
	first := y
	glyph, st := '✓', theme.Good
	if len(run.Diff) > 0 {
		glyph, st = '±', theme.Added
	}
	if run.Verdict == "refuse" {
		glyph, st = '✗', theme.Bad
	}
	fresh := grid.Style(0)
	if f.Fresh(run.Event) {
		fresh = grid.Fresh
	}
	a := s.Row(y)
	a.Put(0, 0, glyph, st|fresh)
	name := run.Stage.Stage
	x := a.Text(2, 0, name, st&0xff|fresh)
	if s.W() >= 60 { // the notes under one another
		x = max(x, 23)
	}
	room := t.draw(s, y)
	x = a.Fit(x+1, 0, max(room-x-1, 0), run.Note, theme.Text|fresh)
	if run.By != "" {
		a.Fit(x+2, 0, max(room-x-2, 0), "("+run.By+")", theme.Muted)
	}
	w := name + ": " + run.Note
	if run.By != "" {
		w = name + " (" + run.By + "): " + run.Note
	}
	if took := t.Took(); took > 0 {
		w += fmt.Sprintf(" It took %s of virtual time.", words.Dur(took))
	}
	s.Hot(0, y, s.W(), pane.Subject{ID: id, Event: run.Event, Kind: trace.RequestStage, Words: w})
	y++
	asked := run.Asked // the authorizers, or the authenticators, in the order in which they were asked
	if run.Proof != nil {
		asked = run.Proof.Tried
	}
	for _, said := range asked {
		by, what, _ := strings.Cut(said, ": ")
		a := s.Row(y)
		x := a.Text(4, 0, by+": ", theme.Muted)
		a.Fit(x, 0, s.W()-x, what, theme.Text)
		y++
	}
	y = drawDiff(s, y, run.Diff)
	s.Mark(grid.Rect{Y: first, W: s.W(), H: y - first}, id+"/changes") // for a lesson: the stage with all that it did
	return y
}

// drawDiff draws the fields that a stage changed.
func drawDiff(s *pane.Sheet, y int, diff []trace.FieldDiff) int {
	for i, d := range diff {
		if i == 8 {
			s.Row(y).Text(4, 0, "… "+words.Count(len(diff)-i, "more field"), theme.Muted)
			return y + 1
		}
		sign, st, val := "+", theme.Added, d.To
		switch {
		case d.To == "":
			sign, st, val = "-", theme.Removed, d.From
		case d.From != "":
			sign, val = "~", d.From+" → "+d.To
		}
		a := s.Row(y)
		x := a.Text(4, 0, sign+" "+d.Path+": ", st)
		a.Fit(x, 0, s.W()-x, val, st)
		y++
	}
	return y
}
