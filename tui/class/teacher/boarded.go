package teacher

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"kviz/tui/class"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/theme"
)

// The columns of the board.
const (
	panelWidth = 25 // of what stands on the right
	wideBoard  = 110
	belowBoard = 6 // rows below the list: how many more, the student, a blank one, the keys
)

// draw draws the board.
func (b *board) draw(n *Notes) {
	a := n.grid.Area()
	w, h := a.W(), a.H()
	n.boardTitle(a.Rows(0, 1))
	panel := 0
	if w >= 76 {
		panel = panelWidth
	}
	list := a.Sub(0, 1, w-panel, max(h-belowBoard-1, 0))
	b.drawList(n, list)
	if panel > 0 {
		n.boardPanel(a.Sub(w-panel, 2, panel, max(h-belowBoard-2, 0)))
	}
	b.drawStudent(n, a.Rows(max(h-belowBoard+1, 1), belowBoard-1))
	n.drawKeys(a.Rows(h-1, 1), b.keys(n))
}

// keys are those that do something now.
func (b *board) keys(n *Notes) []keymap.Binding {
	keys := []keymap.Binding{{Binding: keymap.Hint("↑↓", "student", "up")}}
	if n.cfg.LookInto != nil {
		keys = append(keys, lookKey)
	}
	return append(keys, sendKey, callKey, gateKey, exportKey, shutKey, pollKey, onKey)
}

func (n *Notes) boardTitle(a grid.Area) {
	look := n.scene.Stand.Look
	right := fmt.Sprintf("%d of %d", n.room.Here, len(n.room.Seats))
	if look.Beat != nil {
		right += "   you: " + look.Place()
	}
	title := "class · " + n.title()
	if n.cfg.Join.Code != "" {
		title = "class " + n.cfg.Join.Code + " · " + n.title()
	}
	a.Sub(0, 0, a.W()-grid.Width(right)-3, 1).Text(1, 0, title, theme.Title)
	a.Right(a.W()-1, 0, right, theme.Number)
}

// drawList draws a row a student, under the numbers of the beats.
func (b *board) drawList(n *Notes, a grid.Area) {
	seats := n.room.Seats
	if a.H() < 2 {
		return
	}
	if len(seats) == 0 {
		a.Text(1, 1, "Nobody has come in yet.", theme.Muted)
		return
	}
	_, at, _ := b.chosen(n.room)
	b.page = a.H() - 2 // below the numbers, above how many more there are
	if len(seats) <= a.H()-1 {
		b.page = a.H() - 1
	}
	b.page = max(b.page, 1)
	b.top = max(0, min(b.top, at, len(seats)-b.page))
	b.top = max(b.top, at-b.page+1)
	names := 8
	for _, s := range seats {
		names = max(names, min(grid.Width(grid.Clean(s.Name)), 12))
	}
	from := n.firstBeat(a.W() - names - 3 - 18)
	n.beatNumbers(a.Rows(0, 1), names, from)
	for i := range b.page {
		if b.top+i >= len(seats) {
			break
		}
		n.drawSeat(a.Rows(1+i, 1), &seats[b.top+i], names, from)
		if b.top+i == at {
			a.Mark(1, 1+i, names, grid.Selected)
		}
	}
	if more := len(seats) - b.top - b.page; more > 0 {
		a.Text(1, a.H()-1, fmt.Sprintf("%d more below ▾", more), theme.Muted)
	} else if b.top > 0 && b.page < a.H()-1 {
		a.Text(1, a.H()-1, fmt.Sprintf("%d more above ▴", b.top), theme.Muted)
	}
}

// firstBeat is the first beat that is seen where there is room for so many: the class's own is among them.
func (n *Notes) firstBeat(room int) int {
	over := len(n.cfg.Beats) - max(room, 1)
	if over <= 0 {
		return 0
	}
	return max(0, min(n.number(n.room.Beat)-room/2, over))
}

// beatNumbers draws the numbers of the beats: the first, every fifth, and the last.
func (n *Notes) beatNumbers(a grid.Area, names, from int) {
	a.Text(1, 0, "beat", theme.Muted)
	end := 0
	for i := from; i < len(n.cfg.Beats); i++ {
		no := fmt.Sprint(i + 1)
		x := names + 2 + i - from
		if (i == from || (i+1)%5 == 0 || i == len(n.cfg.Beats)-1) && x >= end && x+len(no) <= a.W() {
			end = a.Text(x, 0, no, theme.Muted) + 1
		}
	}
}

// drawSeat draws a student's row: a mark a beat, and what is the matter with them.
func (n *Notes) drawSeat(a grid.Area, s *class.Seat, names, from int) {
	now := n.cfg.Now()
	st := theme.Text
	if s.Here == 0 {
		st = theme.Shadow
	}
	a.Sub(0, 0, names+1, 1).Text(1, 0, grid.Cut(grid.Clean(s.Name), names), st)
	here := n.number(s.Beat)
	x := names + 2
	for i := from; i < len(n.cfg.Beats) && x < a.W()-1; i++ {
		mark, st := n.mark(s, i, here, now)
		a.Put(x, 0, mark, st)
		x++
	}
	if len(n.cfg.Beats) == 0 {
		x = a.Text(x, 0, grid.Cut(grid.Clean(s.Beat), 16), theme.Muted)
	}
	x += 2
	for _, note := range n.matters(s, now) {
		if x+grid.Width(note.Text) <= a.W() {
			x = a.Text(x, 0, note.Text, note.Style) + 3
		}
	}
	if a.W() >= wideBoard-panelWidth {
		right, judged, hints := 0, 0, s.Hints()
		for _, ok := range s.Right {
			judged++
			if ok {
				right++
			}
		}
		a.Right(a.W()-3, 0, fmt.Sprintf("predictions %2d/%-2d  hints %-2d", right, judged, hints), theme.Muted)
	}
}

// mark is what a student has made of a beat.
func (n *Notes) mark(s *class.Seat, i, here int, now time.Time) (rune, grid.Style) {
	b := n.cfg.Beats[i]
	switch {
	case i > here:
		return '·', theme.Line
	case i == here && s.Stuck(now):
		return '!', theme.Bad | grid.Bold
	case i == here:
		return '◐', theme.Accent | grid.Bold
	}
	_, answered := s.Answers[b.ID]
	_, polled := n.room.Polls[b.ID]
	_, gated := n.room.Gates[b.ID]
	if polled && !answered || gated && acts(b.Kind) && !s.Passed[b.ID] {
		return '○', theme.Warn
	}
	return '●', theme.Good
}

// matters are what is the matter with a student.
func (n *Notes) matters(s *class.Seat, now time.Time) (all []grid.Span) {
	if s.Stuck(now) {
		all = append(all, grid.Span{Text: "! stuck " + minutes(now.Sub(s.Since)), Style: theme.Bad | grid.Bold})
	} else if s.Alone {
		all = append(all, grid.Span{Text: "F own run", Style: theme.Accent})
	}
	if s.Hand {
		all = append(all, grid.Span{Text: "? hand up", Style: theme.Warn | grid.Bold})
	}
	if s.Here == 0 {
		all = append(all, grid.Span{Text: "gone", Style: theme.Shadow})
	}
	return all
}

// boardPanel draws what the marks mean, and how gates and polls stand.
func (n *Notes) boardPanel(a grid.Area) {
	rows := []row{
		{{Text: "● ", Style: theme.Good}, {Text: "done   ", Style: theme.Muted}, {Text: "◐ ", Style: theme.Accent}, {Text: "here", Style: theme.Muted}},
		{{Text: "○ ", Style: theme.Warn}, {Text: "left out", Style: theme.Muted}},
		{{Text: "! ", Style: theme.Bad}, {Text: "stuck over 3 min", Style: theme.Muted}},
		{{Text: "? ", Style: theme.Warn}, {Text: "hand up   ", Style: theme.Muted}, {Text: "F ", Style: theme.Accent}, {Text: "own run", Style: theme.Muted}},
	}
	gates := true
	for _, b := range n.cfg.Beats {
		if g, ok := n.room.Gates[b.ID]; ok {
			if gates {
				rows = append(rows, nil, row{{Text: "gates", Style: theme.Title}})
				gates = false
			}
			text := fmt.Sprintf("%-8s %3d of %d", n.called(b.ID), g.Done, g.Of)
			if g.State != class.Open {
				text += " closed"
			}
			rows = append(rows, row{{Text: text, Style: theme.Text}})
		}
	}
	if len(n.room.Asked) > 0 {
		rows = append(rows, nil, row{{Text: "predictions", Style: theme.Title}})
	}
	for _, beat := range n.room.Asked {
		p := n.room.Polls[beat]
		text := fmt.Sprintf("%-8s %3d of %d", grid.Cut(n.called(beat), 8), p.Given, max(n.room.Here, p.Given))
		if right, judged := rights(&p); judged > 0 && p.State == class.Shown {
			text = fmt.Sprintf("%-8s %3d of %d right", grid.Cut(n.called(beat), 8), right, judged)
		} else if p.State == class.Open {
			text += " open"
		}
		rows = append(rows, row{{Text: text, Style: theme.Text}})
	}
	if over := len(rows) - a.H(); over > 0 && len(rows) > 5 { // the newest are at the end
		rows = append(rows[:4:4], rows[min(4+over, len(rows)):]...)
	}
	for y, r := range rows {
		if y < a.H() {
			a.Spans(0, y, r...)
		}
	}
}

// drawStudent draws the student that is chosen: how far they are, what came nearest, what they have said; or the hints that
// can be sent.
func (b *board) drawStudent(n *Notes, a grid.Area) {
	s, _, ok := b.chosen(n.room)
	if !ok {
		return
	}
	a.HLine(0, 0, a.W(), theme.Line)
	name := grid.Clean(s.Name)
	if b.hint.on {
		a.Text(1, 0, " a hint for "+grid.Cut(name, 12)+" ", theme.Key|grid.Bold)
		hints := n.hints(s.Name)
		for i, h := range hints {
			a.Sub(0, 1+i, a.W()-1, 1).Spans(2, 0, grid.Span{Text: fmt.Sprintf("%d  ", i+1), Style: theme.Key}, grid.Span{Text: h, Style: theme.Text})
		}
		a.Sub(0, min(1+len(hints), a.H()-1), a.W()-1, 1).Spans(2, 0, b.hint.spans("your own: ", a.W()-4)...)
		return
	}
	head := fmt.Sprintf(" %s, %s ", name, n.called(s.Beat))
	if i := n.number(s.Beat); i >= 0 {
		head = fmt.Sprintf(" %s, beat %d: %s ", name, i+1, n.cfg.Beats[i].Title)
	}
	a.Text(1, 0, grid.Cut(head, a.W()-4), theme.Key|grid.Bold)
	for y, r := range n.studentRows(&s, a.W()-4) {
		if y+1 < a.H()-1 {
			a.Sub(0, y+1, a.W()-1, 1).Spans(2, 0, r...)
		}
	}
}

// studentRows say what is known about a student, what matters most first.
func (n *Notes) studentRows(s *class.Seat, w int) (rows []row) {
	say := func(label, text string, st grid.Style) {
		if text != "" {
			rows = append(rows, row{{Text: label, Style: theme.Muted}, {Text: grid.Cut(grid.Clean(text), w-grid.Width(label)), Style: st}})
		}
	}
	if s.Alone {
		text := fmt.Sprintf("%d of %d", s.Done, s.Of)
		switch {
		case s.Broken:
			text += "; it cannot be done there any more"
		case s.Miss != "":
			text += "; nearest: " + s.Miss
		}
		say("goals        ", text, theme.Text)
	}
	say("asks         ", s.Asks, theme.Accent)
	if beat, said, ok := n.lastAnswer(s); ok {
		text := n.called(beat) + ": " + said
		if sure := []string{"", ", a guess", ", thinks so", ", is sure"}[min(max(s.Answers[beat].Sure, 0), 3)]; sure != "" {
			text += sure
		}
		if right, judged := s.Right[beat]; judged {
			text += map[bool]string{true: "  ✓", false: "  ✗"}[right]
		}
		say("last answer  ", text, theme.Text)
	}
	say("hint sent    ", s.Hint, theme.Muted)
	return rows
}

// lastAnswer is what a student said last. It is hidden as long as the poll is, unless the teacher peeks.
func (n *Notes) lastAnswer(s *class.Seat) (beat, words string, ok bool) {
	for i := len(n.room.Asked) - 1; i >= 0; i-- {
		beat = n.room.Asked[i]
		p := n.room.Polls[beat]
		if _, said := s.Answers[beat]; !said {
			continue
		}
		if p.Hidden() && !n.peeksAt(beat) {
			return beat, "has answered", true
		}
		return beat, cmp.Or(strings.TrimSpace(s.Said[beat]), "has answered"), true
	}
	return "", "", false
}
