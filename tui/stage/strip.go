package stage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/tui/grid"
	"kviz/tui/markup"
	"kviz/tui/theme"
)

// row is one row of the strip.
type row []grid.Span

// drawStrip draws what stands below the rule: the question, the goals, what came of them, or
// what has changed. It never scrolls: what is most needed comes first.
func (s *Stage) drawStrip(a grid.Area) {
	w := min(a.W()-4, captionWidth)
	for i, r := range s.strip(w, a.H()) {
		if i < a.H() {
			a.Spans(2, i, r...)
		}
	}
}

func (s *Stage) strip(w, h int) []row {
	b := s.look.Beat
	switch {
	case s.look.Wrong != "":
		return wrongs(s.look.Wrong, w, h)
	case s.look.Trouble != "":
		return say(s.look.Trouble, w, theme.Bad)
	case b.Mistake != "":
		return append(say("✗ "+b.Mistake, w, theme.Bad),
			row{{Text: "u  ", Style: theme.Key}, {Text: "Undo: " + cmp.Or(s.undo, "the scene is set again, up to the beginning of this beat"), Style: theme.Text}},
			row{{Text: "o  ", Style: theme.Key}, {Text: "Go on: look at what becomes of it, then go to the next beat", Style: theme.Text}})
	case b.Late:
		return append(say("This has not happened in your run so far. "+s.wanted(), w, theme.Warn),
			row{{Text: "n  ", Style: theme.Key}, {Text: "goes on with the next beat all the same", Style: theme.Text}})
	}
	if b.Answers != "" && s.look.Verdict != "" && !s.playing() {
		return s.verdictRows(w, h)
	}
	if s.asked() {
		return s.question(w, h)
	}
	rows := s.goals(w, h)
	if len(rows) > 0 || s.look.Kind != lessons.See {
		return append(rows, s.said(w, h-len(rows))...)
	}
	return s.happened(w)
}

// asked reports whether the strip has a question.
func (s *Stage) asked() bool { return len(s.look.Choices) > 0 || s.look.Beat.Typed || s.points() }

// verdictRows tell a verdict, and what the beat itself has to say below it: that gives way.
func (s *Stage) verdictRows(w, h int) []row {
	var below []row
	switch {
	case s.look.Recall != nil && s.look.Recall.Told && s.look.CanNext:
		below = say("space goes on.", w, theme.Good)
	case s.asked() && !(s.known() && s.verdict() != nil): // whose verdict shows again what could be said
		below = s.question(w, h)
	default:
		below = s.goals(w, h)
	}
	told := func() []row {
		if s.verdict() == nil {
			return say(s.look.Verdict, w, theme.Number)
		}
		return s.toldRows(w, h-len(below))
	}
	rows := told()
	if n := len(s.look.Goals); n > 0 && len(rows)+len(below) > h {
		below = s.goals(w, h)[:min(n, h)] // a hint, and what comes next, give way
		if n > 2 {
			below, _ = beside(below, w)
		}
		rows = told()
	}
	if most := max(h-len(below), 1); len(rows) > most {
		rows = rows[:most]
		rows[most-1] = append(rows[most-1], grid.Span{Text: " …", Style: theme.Warn})
	}
	rows = append(rows, below...)
	return append(rows, s.said(w, h-len(rows))...)
}

// verdict is the verdict that the strip gives in its parts, nil for none.
func (s *Stage) verdict() *lessons.Told {
	b := s.look.Beat
	if b.Answers == "" || s.playing() {
		return nil
	}
	return b.Told
}

// toldRows tells a verdict: what could be said, with what came and what was said, then why. Where
// there is no room for all that could be said it is what was said and what came.
func (s *Stage) toldRows(w, h int) []row {
	t := s.verdict()
	if t == nil {
		return nil
	}
	if len(t.Parts) > 0 {
		return partRows(t, w, h)
	}
	why := say(t.Why, w, theme.Number)
	choices := func(all bool) (rows []row) {
		for i, c := range t.Choices {
			mark, st := "  ", theme.Text
			switch {
			case c.Right:
				mark, st = "✓ ", theme.Good
			case c.Chosen:
				mark, st = "✗ ", theme.Bad
			case !all:
				continue
			}
			rows = append(rows, row{{Text: mark, Style: st | grid.Bold}, {Text: fmt.Sprintf("%d  ", i+1), Style: theme.Key}, {Text: grid.Cut(c.Text, w-5), Style: st}})
		}
		return rows
	}
	rows := choices(true)
	if len(rows)+len(why) > h {
		rows = choices(false)
	}
	if more := say(strings.TrimSpace(t.Why+" "+t.More), w, theme.Number); len(rows)+len(more) <= h {
		why = more
	}
	if len(rows)+len(why) > h { // what came is worth more than why
		why = why[:max(h-len(rows), 0)]
	}
	return append(rows, why...)
}

// partRows are the parts of a verdict as they are right, each with what was said of it where that was something
// else.
func partRows(t *lessons.Told, w, h int) []row {
	var rows []row
	for _, p := range t.Parts {
		mark, st := "✓", theme.Good
		if !p.Right {
			mark, st = "✗", theme.Bad
		}
		if p.Place == 0 {
			r := row{{Text: mark + " ", Style: st | grid.Bold}, {Text: p.Text + " → " + p.Label, Style: st}}
			if !p.Right {
				r = append(r, grid.Span{Text: "  you: " + p.SaidLabel, Style: theme.Muted})
			}
			rows = append(rows, r.cut(w))
			continue
		}
		yours := "  "
		if !p.Right {
			yours = fmt.Sprintf("%d ", p.Said)
		}
		rows = append(rows, row{{Text: fmt.Sprint(p.Place), Style: theme.Key}, {Text: mark, Style: st | grid.Bold}, {Text: yours, Style: theme.Muted}, {Text: p.Text, Style: st}})
	}
	if len(rows) > h {
		var all []row
		for _, r := range rows {
			all = append(all, slices.Clone(r))
		}
		if two, whole := beside(all, w); whole { // else the first of them: the beat before has all
			rows = two
		}
	}
	if why := say(t.Why, w, theme.Number); len(rows)+len(why) <= h {
		rows = append(rows, why...)
	}
	return rows
}

// wrongs are the mistakes in a text, which has one a line: as many as there is room for.
func wrongs(text string, w, h int) []row {
	all := strings.Split(text, "\n")
	var rows []row
	for i, one := range all {
		more := say("✗ "+one, w, theme.Bad)
		if left := len(all) - i; i > 0 && len(rows)+len(more) > h-min(left-1, 1) {
			return append(rows[:min(len(rows), h-1)], row{{Text: fmt.Sprintf("… and %d more", left), Style: theme.Warn}})
		}
		rows = append(rows, more...)
	}
	return rows
}

// say breaks a text into rows.
func say(text string, w int, st grid.Style) []row {
	var rows []row
	for _, line := range markup.Lines(text, w) {
		rows = append(rows, markup.Line(line, st))
	}
	return rows
}

// wanted says what the beat waits for.
func (s *Stage) wanted() string {
	if s.look.Beat.Offer != "" {
		return "The command below makes it happen."
	}
	return "The cluster goes on until it does."
}

// question shows what is asked and what can be answered. Where there is no room for all of it the rule asks; where
// that is not enough the answers stand in two columns.
func (s *Stage) question(w, h int) []row {
	rows, answers := s.questionRows(w)
	if s.asksAbove(w, h) {
		rows = rows[:0]
	}
	s.crowded = ""
	if len(rows)+len(answers) > h {
		fits, labels := false, []row{}
		if n := len(s.look.Items); n > 0 { // labels are below the items, and stay there
			answers, labels = answers[:n], answers[n:]
		}
		answers, fits = beside(answers, w)
		if answers = append(answers, labels...); !fits {
			s.crowded = "its answers do not fit side by side; say them in fewer words"
		}
	}
	if n := len(rows) + len(answers); n > h {
		s.crowded = fmt.Sprintf("the question takes %d rows of %d", n, h)
	}
	return append(rows, answers...)
}

// asksAbove reports whether the question stands in the rule: below it there is no room for all of it.
func (s *Stage) asksAbove(w, h int) bool {
	rows, answers := s.questionRows(w)
	return s.look.Kind == lessons.Predict && len(rows)+len(answers) > h && len(answers) <= h && len(asking+s.look.Ask) <= w-4
}

// asking stands before a question in the rule.
const asking = "predict: "

// questionRows are the rows of a question: what is asked, and what can be answered.
func (s *Stage) questionRows(w int) (asks, answers []row) {
	look, b := s.look, s.look.Beat
	asks = say("**"+look.Ask+"**", w, theme.Text)
	if b.Typed {
		return asks, []row{{{Text: "A number: type it, then enter.", Style: theme.Muted}}}
	}
	if s.points() {
		return asks, s.pointRows()
	}
	if len(look.Items) > 0 {
		answers = itemRows(look)
		if !look.Answered {
			answers = append(answers, labelRows(look.Choices, w)...)
		}
		return asks, answers
	}
	known := s.known()
	for i, c := range look.Choices {
		key := fmt.Sprintf("%d ", i+1)
		if look.Form == lessons.Order { // a card has its key until it has its place
			mark, st := fmt.Sprintf("[%d] ", i+1), theme.Key
			switch {
			case known && c.Right:
				mark, st = fmt.Sprintf("%d✓  ", i+1), theme.Good
			case known:
				mark, st = fmt.Sprintf("%d✗%d ", i+1, c.Place), theme.Bad
			case c.Place > 0:
				mark, st = fmt.Sprintf(" %d. ", c.Place), theme.Accent|grid.Bold
			}
			answers = append(answers, row{{Text: mark, Style: st}, {Text: c.Text, Style: theme.Text}})
			continue
		}
		mark, st := " ", theme.Text
		switch {
		case c.Right:
			mark, st = "✓", theme.Good
		case c.Chosen && known:
			mark, st = "✗", theme.Bad
		case c.Chosen:
			mark, st = "●", theme.Accent
		}
		if look.Form == lessons.Count || look.Form == lessons.Point {
			key = ""
		}
		answers = append(answers, row{{Text: mark + " ", Style: st | grid.Bold}, {Text: key, Style: theme.Key}, {Text: grid.Cut(c.Text, w-4), Style: st}})
	}
	return asks, answers
}

// known reports whether the beat's own question has its verdict.
func (s *Stage) known() bool {
	v := s.look.Verdict
	return s.look.Answered && v != "" && !strings.HasPrefix(v, "You will")
}

// itemRows are the items of a question of match, each with its label or the room for one.
func itemRows(look lessons.Look) (rows []row) {
	room := 0
	for _, c := range look.Choices {
		room = max(room, grid.Width(c.Text))
	}
	for _, it := range look.Items {
		label := "…"
		if it.Next {
			label = "?"
		}
		label = cmp.Or(it.Label, label)
		if n := room - grid.Width(label); n > 0 {
			label += strings.Repeat(" ", n)
		}
		rows = append(rows, row{{Text: it.Text + " → ", Style: theme.Text}, {Text: label, Style: theme.Accent}})
	}
	return rows
}

// labelRows are the labels with their keys: one row where there is room for all of them, as an item needs its own.
func labelRows(labels []lessons.ChoiceLook, w int) []row {
	one, each := row{}, []row{}
	for i, c := range labels {
		gap := "   "
		if i == 0 {
			gap = "  "
		}
		key, text := grid.Span{Text: fmt.Sprintf("%d ", i+1), Style: theme.Key}, grid.Span{Text: c.Text, Style: theme.Text}
		one = append(one, grid.Span{Text: gap, Style: theme.Text}, key, text)
		each = append(each, row{{Text: "  ", Style: theme.Text}, key, text}.cut(w))
	}
	if one.width() <= w {
		return []row{one}
	}
	return each
}

// beside puts the second half of rows beside the first, in columns that are as wide as what
// stands in them, and reports whether both are whole.
func beside(rows []row, w int) (two []row, whole bool) {
	half := (len(rows) + 1) / 2
	left, right := 0, 0
	for i, r := range rows {
		if i < half {
			left = max(left, r.width())
		} else {
			right = max(right, r.width())
		}
	}
	whole = left+2+right <= w
	left = min(left, max(w-right-2, w/2-2))
	for i := range rows[:half] {
		r := rows[i].cut(left)
		if half+i < len(rows) {
			gap := max(left, w/2-2) - r.width() + 2
			if max(left, w/2-2)+2+right > w {
				gap = left - r.width() + 2
			}
			r = append(append(r, grid.Span{Text: strings.Repeat(" ", max(gap, 1)), Style: theme.Text}), rows[half+i]...)
		}
		rows[i] = r.cut(w)
	}
	return rows[:half], whole
}

// width is how many columns a row takes.
func (r row) width() (w int) {
	for _, span := range r {
		w += grid.Width(span.Text)
	}
	return w
}

// cut is a row of at most so many columns, its last words cut.
func (r row) cut(w int) row {
	if over := r.width() - w; over > 0 && len(r) > 0 {
		last := &r[len(r)-1]
		last.Text = grid.Cut(last.Text, grid.Width(last.Text)-over)
	}
	return r
}

// goals are the goals of the beat, with the hint or what came nearest, as far as there is room.
func (s *Stage) goals(w, h int) []row {
	var rows []row
	done := len(s.look.Goals) > 0
	for _, g := range s.look.Goals {
		mark, st := "○ ", theme.Warn
		if g.Met {
			mark, st = "● ", theme.Good
		}
		done = done && g.Met
		say := g.Say
		if g.Ahead { // a tick stands above a picture that agrees with it
			mark, st, say = "◐ ", theme.Busy, say+" (the next beats show it)"
			if grid.Width(say) > w-2 {
				say = g.Say
			}
		}
		rows = append(rows, row{{Text: mark, Style: st}, {Text: grid.Cut(say, w-2), Style: theme.Text}})
	}
	var more []row
	switch {
	case done && s.look.CanNext:
		more = say("All of it is done: space goes on.", w, theme.Good)
	case s.look.Hint != "":
		more = say("Hint: "+s.look.Hint, w, theme.Warn)
	}
	if miss := s.look.Beat.Miss; miss != "" && !done {
		if said := say("nearest: "+miss, w, theme.Warn); len(more) == 0 || len(rows)+len(more)+len(said) <= h {
			more = append(more, said...)
		}
	}
	for len(rows)+len(more) > h && len(rows) > 1 { // what is done makes room
		rows = rows[1:]
	}
	return append(rows, more...)
}

// happened says what the event was at which the stage stands.
func (s *Stage) happened(w int) []row {
	b := s.look.Beat
	switch {
	case b.Still:
		return say(b.After, w, theme.Text)
	case s.playing(), !b.Stopped:
		return nil
	}
	e := s.history.Event(s.Event())
	if e == nil {
		return nil
	}
	rows := say(fmt.Sprintf("#%s  %s", e.ID, view.Explain(e)), w, theme.Text)
	if s.play.Changes == 0 {
		rows = append(rows, say("Nothing in the ring changed on the way here; w asks why this happened.", w, theme.Warn)...)
	}
	return rows
}
