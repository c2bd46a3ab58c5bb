package teacher

import (
	"fmt"
	"slices"
	"strings"

	"kviz/lessons"
	"kviz/tui/class"
	"kviz/tui/class/lead"
	"kviz/tui/grid"
	"kviz/tui/markup"
	"kviz/tui/stage"
	"kviz/tui/theme"
)

// newest is the poll that was opened last, nil for none.
func (d *desk) newest() *class.Poll {
	if len(d.room.Asked) == 0 {
		return nil
	}
	p := d.room.Polls[d.room.Asked[len(d.room.Asked)-1]]
	return &p
}

// asks reports whether the beat asks a question that has no verdict yet.
func (d *desk) asks() bool {
	look := d.scene.Stand.Look
	return look.Ask != "" && look.Beat.Answers == ""
}

// tells reports whether the answers to the newest question are on the screen: from when they are shown to the end of that
// beat, in the question's own beat, and in the one that reveals what came.
func (p *Projector) tells() bool {
	poll, b := p.newest(), p.beat()
	if poll == nil || poll.State != class.Shown || poll.Given == 0 || p.stage.Playing() {
		return false
	}
	return b.ID == p.revealed || b.ID == poll.Beat || b.Answers != ""
}

// questionRows are the question that is open, what can be answered, and how many have. What they have answered is not among
// it: nobody is to wait for the crowd.
func (p *Projector) questionRows(w, h int) []row {
	look, b := p.scene.Stand.Look, p.beat()
	var rows, answers []row
	for _, line := range markup.Lines(look.Ask, w) {
		rows = append(rows, markup.Line(line, theme.Accent|grid.Bold))
	}
	for _, it := range look.Items {
		answers = append(answers, row{{Text: it.Text + " → …", Style: theme.Text | grid.Bold}})
	}
	switch {
	case b.Point != "":
		point := row{{Text: "Point at it.", Style: theme.Text}}
		if name, at, of := p.stage.Pointed(); of > 0 {
			point = append(point, grid.Span{Text: fmt.Sprintf("  %s (%d of %d)", name, at, of), Style: theme.Muted})
		}
		answers = append(answers, point)
	case look.Form == lessons.Count || b.Typed:
		answers = append(answers, row{{Text: "A number.", Style: theme.Text}})
	default:
		for i, c := range look.Choices {
			answers = append(answers, row{{Text: fmt.Sprintf("%d  ", i+1), Style: theme.Key | grid.Bold}, {Text: grid.Cut(c.Text, w-4), Style: theme.Text | grid.Bold}})
		}
	}
	var status []row
	if poll, ok := p.room.Polls[b.ID]; ok && p.room.Here > 0 {
		text := fmt.Sprintf("%d of %d have answered", poll.Given, max(p.room.Here, poll.Given))
		if poll.State == class.Closed {
			text = fmt.Sprintf("closed: %s", strings.Replace(text, " have", "", 1))
		}
		status = append(status, row{{Text: text, Style: theme.Number | grid.Bold}})
	}
	if len(rows)+len(answers)+len(status) > h {
		answers = columns(answers, w)
	}
	if over := len(rows) + len(answers) + len(status) - h; over > 0 && len(answers) > 0 { // all that is asked is there, in the end of what can be answered
		answers = first(answers, max(len(answers)-over, 1))
	}
	return append(append(rows, answers...), status...)
}

// columns puts the second half of rows beside the first, where both fit.
func columns(rows []row, w int) []row {
	half := (len(rows) + 1) / 2
	left, right := 0, 0
	for i, r := range rows {
		if i < half {
			left = max(left, width(r))
		} else {
			right = max(right, width(r))
		}
	}
	if len(rows) < 2 || left+3+right > w {
		return rows
	}
	var two []row
	for i, r := range rows[:half] {
		r = slices.Clone(r)
		if half+i < len(rows) {
			r = append(append(r, grid.Span{Text: strings.Repeat(" ", left+3-width(r)), Style: theme.Text}), rows[half+i]...)
		}
		two = append(two, r)
	}
	return two
}

// counted is an answer and how many gave it.
type counted struct {
	key           string // the digit of a choice
	words         string
	count         int
	right, judged bool
}

// counts are the answers to a question: of one with choices all of them in their order, also what nobody chose; else what was
// given, the most frequent first.
func (d *desk) counts(poll *class.Poll) (all []counted) {
	for _, c := range d.choices(poll) {
		all = append(all, counted{key: fmt.Sprint(len(all) + 1), words: c.Text, right: c.Right, judged: d.beat().Told != nil})
	}
	for _, s := range poll.Answers {
		if n := chosen(s.Answer); n >= 0 && n < len(all) {
			one := &all[n]
			one.count += s.Count
			one.right, one.judged = one.right || s.Right, one.judged || s.Judged
			continue
		}
		all = append(all, counted{words: s.Words, count: s.Count, right: s.Right, judged: s.Judged})
	}
	return all
}

// choices are those of a poll's question, as far as the beat under way knows them.
func (d *desk) choices(poll *class.Poll) []lessons.ChoiceLook {
	look, b := d.scene.Stand.Look, d.beat()
	switch {
	case b == nil:
	case b.Told != nil && len(b.Told.Choices) > 0:
		return b.Told.Choices
	case b.ID == poll.Beat && look.Form == lessons.OneOf:
		return look.Choices
	}
	return nil
}

// chosen is which choice an answer is, -1 if it is something else.
func chosen(a lessons.Answer) int {
	if a.Number != nil || a.Point != "" || len(a.Parts) != 1 {
		return -1
	}
	return a.Parts[0]
}

// mostBars is how many rows the bars take at most: the picture is to be seen with them.
const mostBars = 7

// tally are the bars of a poll that was shown, with what came once that is known.
func (p *Projector) tally(w, h int) []row {
	poll := p.newest()
	var why []row
	if t := p.beat().Told; t != nil && p.beat().Answers != "" {
		text := t.Why
		if !t.Right && t.More != "" {
			text = t.More
		}
		for _, line := range markup.Lines(text, w) {
			why = append(why, markup.Line(line, theme.Text))
		}
	}
	all := p.counts(poll)
	whole := h
	h = min(h, mostBars)
	rows := bars(all, w)
	switch room := h - len(rows); {
	case room >= 0 && len(why) > 0 && len(rows)+len(why) <= whole:
		rows = append(rows, why...)
	case room < 0 && h > 0:
		over := 0
		for _, c := range all[h-1:] {
			over += c.count
		}
		rows = append(rows[:h-1], row{{Text: fmt.Sprintf("   %d gave other answers", over), Style: theme.Muted}})
	}
	return rows
}

// bars are answers with bars as long as how many gave them.
func bars(all []counted, w int) (rows []row) {
	longest, most := 0, 1
	for _, c := range all {
		longest, most = max(longest, grid.Width(c.words)), max(most, c.count)
	}
	words := min(longest, max(w-24, w/2))
	room := max(min(w-words-12, 40), 1)
	for _, c := range all {
		mark, st := "  ", theme.Accent
		switch {
		case c.judged && c.right:
			mark, st = "✓ ", theme.Good
		case c.judged:
			mark, st = "✗ ", theme.Bad
		}
		text := theme.Text | grid.Bold
		if c.judged && !c.right {
			text = theme.Text
		}
		n := c.count * room / most
		if c.count > 0 {
			n = max(n, 1)
		}
		bar := strings.Repeat("█", n)
		if n > 0 {
			bar += " "
		}
		rows = append(rows, row{
			{Text: mark, Style: st | grid.Bold},
			{Text: grid.PadLeft(c.key, len(fmt.Sprint(len(all)))) + "  ", Style: theme.Key},
			{Text: grid.Pad(grid.Clean(c.words), words) + "  ", Style: text},
			{Text: bar, Style: st},
			{Text: fmt.Sprint(c.count), Style: theme.Number | grid.Bold},
		})
	}
	return rows
}

// unnumbered is a verdict without the numbers of events: "Right (#67): it was a".
func unnumbered(text string) string {
	for {
		before, rest, found := strings.Cut(text, " (#")
		_, after, closed := strings.Cut(rest, ")")
		if !found || !closed {
			return text
		}
		text = before + after
	}
}

// verdictRows say what came of a question whose answers are not shown: what is right, and why it is so.
func (p *Projector) verdictRows(w int) (rows []row) {
	b := p.beat()
	t := b.Told
	if t == nil {
		if poll := p.newest(); poll == nil || poll.Given == 0 { // it is what the teacher has said
			said := p.scene.Stand.Look.Verdict
			if !p.numbers {
				said = unnumbered(said)
			}
			for _, line := range markup.Lines(said, w) {
				rows = append(rows, markup.Line(line, theme.Text|grid.Bold))
			}
		}
		return rows
	}
	for i, c := range t.Choices {
		if c.Right {
			rows = append(rows, row{{Text: "✓ ", Style: theme.Good | grid.Bold}, {Text: fmt.Sprintf("%d  ", i+1), Style: theme.Key}, {Text: grid.Cut(c.Text, w-5), Style: theme.Good | grid.Bold}})
		}
	}
	for _, part := range t.Parts {
		mark := "✓ "
		if part.Place > 0 {
			mark = fmt.Sprintf("%d ", part.Place)
		}
		text := part.Text
		if part.Label != "" {
			text += " → " + part.Label
		}
		rows = append(rows, row{{Text: mark, Style: theme.Good | grid.Bold}, {Text: grid.Cut(text, w-2), Style: theme.Good | grid.Bold}})
	}
	why := t.Why
	if !t.Right && t.More != "" {
		why = t.More
	}
	for _, line := range markup.Lines(why, w) {
		rows = append(rows, markup.Line(line, theme.Text))
	}
	return rows
}

// expect finds what the class said of the picture's cells: nothing until the poll is shown.
func (p *Projector) expect() {
	now := [2]uint64{p.scene.No, p.room.No}
	if now == p.judged {
		return
	}
	p.judged, p.expected = now, nil
	poll, b := p.newest(), p.beat()
	if poll == nil || poll.Given == 0 { // the teacher has answered, or nobody
		for _, g := range b.Ghosts {
			p.expected = append(p.expected, stage.Expected{At: g.At, Says: g.Says})
		}
		return
	}
	p.expected = lead.Voices(p.cfg.Lead.LookAs, b, poll)
}
