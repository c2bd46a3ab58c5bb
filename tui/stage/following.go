package stage

import (
	tea "charm.land/bubbletea/v2"

	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/lessons/director"
	"kviz/tui/action"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/theme"
)

// Stand is where a stage stands: what it shows of which history, and how far. It is a value that stages of other sizes
// draw at their own ([Stage.Follow]); nothing in it changes.
type Stand struct {
	Look    lessons.Look
	History *view.History
	Play    director.Play // empty where the beat has no way to be shown
	Spots   []string      // rings in the place of those of the beat
}

// Stand is where the stage stands as it was last drawn.
func (s *Stage) Stand() Stand { return Stand{Look: s.look, History: s.history, Play: s.play} }

// Follow has the stage stand where another one does. It makes no plan of its own then, and its clock does nothing.
func (s *Stage) Follow(at Stand) {
	s.Update(at.Look, at.History)
	s.play, s.follows, s.extra = at.Play, true, at.Spots
}

// Below is what stands below the caption in the place of what a learner of their own has there: those who follow answer
// polls, and a projector shows them.
type Below struct {
	Left, Right string // of the rule
	Rows        func(w, h int) [][]grid.Span
	Drawer      []grid.Span // nil: what a question takes that is answered by typing, and how sure one is
	Keys        []keymap.Binding
}

// drawBelow draws it.
func (s *Stage) drawBelow(r regions, b *Below) {
	drawRuleOf(r.rule, b.Left, b.Right)
	w := min(r.strip.W()-4, captionWidth)
	for i, one := range b.Rows(w, r.strip.H()) {
		if i < r.strip.H() {
			r.strip.Spans(2, i, one...)
		}
	}
	if b.Drawer == nil {
		s.drawDrawer(r.drawer, Around{})
	} else {
		r.drawer.Sub(0, 0, r.drawer.W()-1, 1).Spans(1, 0, b.Drawer...)
	}
	r.keys.Sub(1, 0, r.keys.W()-2, 1).Styled(keymap.Line(b.Keys, r.keys.W()-2))
}

// Question are the rows of the question that is open on the stage, or of what came of one; none where there is neither.
func (s *Stage) Question(w, h int) (rows [][]grid.Span) {
	from := []row(nil)
	switch b := s.look.Beat; {
	case b == nil:
	case b.Answers != "" && s.look.Verdict != "" && !s.playing():
		from = s.verdictRows(w, h)
	case s.asked():
		from = s.question(w, h)
	}
	for _, r := range from {
		rows = append(rows, r)
	}
	return rows
}

// Strip are the rows that a learner of their own would see.
func (s *Stage) Strip(w, h int) (rows [][]grid.Span) {
	if s.look.Beat == nil {
		return nil
	}
	for _, r := range s.strip(w, h) {
		rows = append(rows, r)
	}
	return rows
}

// Answer is what a key says to the question that is open; ours reports whether it was about that.
func (s *Stage) Answer(k tea.KeyPressMsg) (does action.Action, ours bool) {
	if s.look.Beat == nil {
		return nil, false
	}
	return s.answer(k)
}

// drawRuleOf draws a rule with words at both ends.
func drawRuleOf(a grid.Area, left, right string) {
	a.HLine(0, 0, a.W(), theme.Line)
	x := 2
	if left != "" {
		x = a.Text(1, 0, " "+grid.Cut(left, a.W()-6)+" ", theme.Key|grid.Bold)
	}
	if right != "" && x+grid.Width(right)+4 <= a.W() {
		a.Right(a.W()-2, 0, " "+right+" ", theme.Muted)
	}
}

// Pane is the name of the pane on the stage, "" for none.
func (s *Stage) Pane() string { return s.pane() }
