package lesson

import (
	"fmt"
	"slices"

	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/markup"
	"kviz/tui/theme"
)

// Draw draws the beat: its text, and below it what has to be done, which is always in
// sight. typing says that the console has the keyboard.
func (l *Lesson) Draw(a grid.Area, width int, typing bool) {
	a.Clear()
	l.rows = a.H()
	kinds := map[string]string{"see": "look", "predict": "predict", "do": "do", "break": "break it", "free": "your turn"}
	title := []grid.Span{{Text: l.look.Title, Style: theme.Title}}
	if l.look.Steps > 0 {
		title = append([]grid.Span{{Text: fmt.Sprintf("%d/%d %s · ", l.look.Step, l.look.Steps, kinds[l.look.Kind]), Style: theme.Key}}, title...)
	}
	in := a.Frame(title, theme.Accent)
	w := in.W() - 2
	rows := textRows(l.look, w)
	if l.notes && l.look.Notes != "" {
		rows = append(rows, nil)
		for _, line := range grid.Lines("Notes: "+l.look.Notes, w) {
			rows = append(rows, markup.Line(line, theme.Muted))
		}
	}
	foot := footRows(l.look, w, max((in.H()-1)/2, 1))
	room := in.H() - 1
	if len(foot) > 0 {
		room -= len(foot) + 1
		in.HLine(0, max(room, 0), in.W(), theme.Line)
		for i, row := range foot {
			x := 1
			for _, span := range row {
				x = in.Text(x, room+1+i, span.Text, span.Style)
			}
		}
	}
	l.text.Draw(in.Rows(0, max(room, 0)), rows)
	l.drawKeys(in, l.Large(width) && !typing)
}

// drawKeys draws the last line: what can be pressed; plain says that letters and digits
// are the lesson's.
func (l *Lesson) drawKeys(in grid.Area, plain bool) {
	hints := lessonKeys
	if l.asksParts() {
		hints = slices.Concat(answerKeys, undoKeys, lessonKeys)
	} else if l.asks() {
		hints = slices.Concat(answerKeys, lessonKeys)
	}
	x, y := 1, in.H()-1
	put := func(label, words string, st grid.Style) {
		if x+grid.Width(label)+grid.Width(words)+1 >= in.W() {
			return
		}
		x = in.Text(x, y, label, st)
		x = in.Text(x+1, y, words, theme.Muted) + 2
	}
	for _, b := range hints {
		if b.Rank == 0 {
			continue
		}
		st := theme.Key | grid.Bold
		if b.Action == next && !l.look.CanNext {
			st = theme.Muted
		}
		put(l.label(b, plain), b.Words(), st)
		if b.Action == next && plain {
			put("L", "panes", theme.Key|grid.Bold)
		}
	}
	put("^d", "scroll", theme.Key)
}

// label is how a key is written in the last line.
func (l *Lesson) label(b keymap.Binding, plain bool) string {
	alt := "alt+"
	if plain {
		alt = ""
	}
	switch b.Action {
	case "answer 1":
		return fmt.Sprintf("%s1…%d", alt, len(l.look.Choices))
	case undo:
		return alt + "0"
	}
	return b.Help().Key
}
