package lesson

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"kviz/lessons"
	"kviz/lessons/link"
	"kviz/tui/action"
	"kviz/tui/edit"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/overlay"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// List is the list of lessons: on the left the way through them, on the right what the chosen
// one is about. It is an [overlay.Overlay].
type List struct {
	all    []lessons.Info
	beats  func(id string) []lessons.Need
	search edit.Line
	typing bool

	shown []int // indexes into all
	at    int   // in shown
	top   int   // of the rows
	rows  []listRow
	box   grid.Rect // where rows were drawn
}

// listRow is a heading, or a lesson.
type listRow struct {
	part string
	n    int // in shown; of a lesson
}

// List lists the lessons, the cursor on what to take next.
func (l *Lesson) List() overlay.Overlay {
	p := &List{all: l.player.List(), beats: l.player.Beats}
	p.narrow()
	if i := slices.IndexFunc(p.all, func(x lessons.Info) bool { return x.Chosen }); i >= 0 {
		p.at = i
	}
	return p
}

func (p *List) narrow() {
	p.shown, p.at, p.top = p.shown[:0], 0, 0
	word := strings.ToLower(p.search.String())
	for i, x := range p.all {
		if strings.Contains(strings.ToLower(x.ID+" "+x.Title+" "+x.Part+" "+x.Teaches), word) {
			p.shown = append(p.shown, i)
		}
	}
	p.rows = p.rows[:0]
	part := ""
	for n, i := range p.shown {
		if p.all[i].Part != part {
			part = p.all[i].Part
			p.rows = append(p.rows, listRow{part: part, n: -1})
		}
		p.rows = append(p.rows, listRow{n: n})
	}
}

var (
	goOn    = keymap.Hint("⏎", "go on", "enter")
	aBeat   = keymap.Hint("g", "beat", "g")
	anew    = keymap.Hint("r", "anew", "r")
	recalls = keymap.Hint("R", "recall", "R")
	mine    = keymap.Hint("p", "progress", "p")
	paper   = keymap.Hint("h", "handout", "h")
	copies  = keymap.Hint("c", "copy link", "c")
	find    = keymap.Hint("/", "search", "/")
	shut    = keymap.Hint("esc", "close", "esc", "q", "ctrl+c")
	upKey   = key.NewBinding(key.WithKeys("up", "k"))
	downKey = key.NewBinding(key.WithKeys("down", "j"))
	pgUp    = key.NewBinding(key.WithKeys("pgup", "ctrl+u"))
	pgDown  = key.NewBinding(key.WithKeys("pgdown", "ctrl+d"))
	homeKey = key.NewBinding(key.WithKeys("home"))
	endKey  = key.NewBinding(key.WithKeys("end"))
)

// Keys implements [overlay.Overlay].
func (p *List) Keys() []key.Binding {
	if p.typing {
		return []key.Binding{keymap.Hint("type", "to search", "any"), keymap.Hint("⏎", "choose", "enter"), keymap.Hint("esc", "the whole list", "esc")}
	}
	return []key.Binding{keymap.Hint("↑↓", "move", "up", "down"), goOn, aBeat, anew, recalls, mine, find, shut, copies, paper}
}

// Paste implements [overlay.Overlay].
func (p *List) Paste(s string) {
	p.typing = true
	p.search.Insert(s)
	p.narrow()
}

// Wheel implements [overlay.Overlay].
func (p *List) Wheel(by int) { p.move(by) }

func (p *List) move(by int) { p.at = max(0, min(p.at+by, len(p.shown)-1)) }

// Key implements [overlay.Overlay].
func (p *List) Key(k tea.KeyPressMsg) overlay.Reaction {
	if p.typing {
		return p.searchKey(k)
	}
	x := p.chosen()
	switch {
	case key.Matches(k, shut):
		return overlay.Reaction{Close: true}
	case key.Matches(k, upKey):
		p.move(-1)
	case key.Matches(k, downKey):
		p.move(1)
	case key.Matches(k, pgUp):
		p.move(-max(p.box.H-1, 1))
	case key.Matches(k, pgDown):
		p.move(max(p.box.H-1, 1))
	case key.Matches(k, homeKey):
		p.move(-len(p.all))
	case key.Matches(k, endKey):
		p.move(len(p.all))
	case key.Matches(k, find):
		p.typing = true
	case key.Matches(k, recalls):
		return overlay.Reaction{Close: true, Do: action.Begin(lessons.Recalling)}
	case key.Matches(k, mine):
		return overlay.Reaction{Do: action.Progress}
	case x == nil:
	case key.Matches(k, goOn):
		return overlay.Reaction{Close: true, Do: action.Begin(x.ID)}
	case key.Matches(k, anew):
		return overlay.Reaction{Close: true, Do: action.Begin(x.ID + "#")}
	case key.Matches(k, paper):
		return overlay.Reaction{Do: action.Handout(x.ID)}
	case key.Matches(k, copies):
		return overlay.Reaction{Do: action.Link{To: link.Link{Lesson: x.ID, Version: x.Version, Beat: x.Beat}.String()}}
	case key.Matches(k, aBeat):
		return overlay.Reaction{Do: action.Beats(x.ID)}
	}
	return overlay.Reaction{}
}

// searchKey takes a key while a search is typed.
func (p *List) searchKey(k tea.KeyPressMsg) overlay.Reaction {
	switch k.Code {
	case tea.KeyEscape:
		p.typing = false
		p.search.Set("")
		p.narrow()
	case tea.KeyEnter:
		p.typing = false
	case tea.KeyUp:
		p.move(-1)
	case tea.KeyDown:
		p.move(1)
	default:
		if p.search.Key(k) {
			p.narrow()
		}
	}
	return overlay.Reaction{}
}

// chosen is the lesson under the cursor, nil where nothing matches.
func (p *List) chosen() *lessons.Info {
	if p.at >= len(p.shown) {
		return nil
	}
	return &p.all[p.shown[p.at]]
}

// Click implements [overlay.Overlay].
func (p *List) Click(x, y int) overlay.Reaction {
	if !p.box.Has(x, y) {
		return overlay.Reaction{}
	}
	row := p.top + y - p.box.Y
	if row >= len(p.rows) || p.rows[row].n < 0 {
		return overlay.Reaction{}
	}
	if p.rows[row].n == p.at {
		return overlay.Reaction{Close: true, Do: action.Begin(p.chosen().ID)}
	}
	p.at = p.rows[row].n
	return overlay.Reaction{}
}

// Draw implements [overlay.Overlay].
func (p *List) Draw(screen grid.Area) (overlay.Point, bool) {
	a := screen.Sub(max((screen.W()-listWidth)/2, 0), 0, min(screen.W(), listWidth), screen.H())
	a.Clear()
	done, due := 0, 0
	for _, x := range p.all {
		due += x.Due
		if x.Done {
			done++
		}
	}
	x := a.Text(1, 0, "Lessons", theme.Title)
	cursor, typing := overlay.Point{}, false
	if p.typing || p.search.String() != "" {
		x = a.Text(x+2, 0, "/", theme.Key)
		end := p.search.Draw(a, x, 0, 24, theme.Text)
		cursor, typing = overlay.Point{X: a.R.X + end, Y: a.R.Y}, p.typing
	}
	count := fmt.Sprintf("%d of %d done", done, len(p.all))
	if due > 0 {
		count += fmt.Sprintf(" · %s due", words.Count(due, "question"))
	}
	a.Right(a.W()-1, 0, count, theme.Muted)
	left := a.W() * 4 / 7
	p.way(a.Sub(0, 1, left, a.H()-1).Frame(nil, theme.Accent))
	if one := p.chosen(); one != nil {
		p.about(a.Sub(left, 1, a.W()-left, a.H()-1).Frame([]grid.Span{{Text: one.ID + " " + one.Title, Style: theme.Title}}, theme.Line), one)
	}
	if !typing {
		for y, r := range p.rows {
			if r.n == p.at && r.part == "" {
				cursor = overlay.Point{X: p.box.X + 1, Y: p.box.Y + y - p.top}
			}
		}
	}
	return cursor, len(p.shown) > 0 || typing
}

// listWidth is the most columns that the list takes.
const listWidth = 140

// way draws the lessons.
func (p *List) way(a grid.Area) {
	p.box = a.R
	if len(p.rows) == 0 {
		a.Wrap(1, 0, a.W()-2, a.H(), "nothing matches “"+p.search.String()+"”", theme.Muted)
		return
	}
	at := slices.IndexFunc(p.rows, func(r listRow) bool { return r.n == p.at })
	if at <= p.top {
		p.top = max(at-1, 0) // with its heading
	}
	p.top = max(p.top, at-a.H()+1)
	for y := 0; y < a.H() && p.top+y < len(p.rows); y++ {
		r := p.rows[p.top+y]
		if r.n < 0 {
			a.HLine(1, y, a.W()-2, theme.Line)
			a.Text(1, y, r.part+" ", theme.Muted|grid.Bold)
			continue
		}
		x := p.all[p.shown[r.n]]
		mark, state, st, stateSt := "○ ", fmt.Sprintf("%d min", x.Minutes), theme.Text, theme.Muted
		switch {
		case x.Step > 1 && x.Steps > 0:
			mark, state, stateSt = "◐ ", fmt.Sprintf("beat %d of %d", x.Step, x.Steps), theme.Warn
		case x.Due > 0:
			mark, state, stateSt = "● ", "recall due", theme.Number
		case x.Done:
			mark, state, st, stateSt = "● ", "done", theme.Good, theme.Good
		}
		if r.n == p.at {
			a.Put(0, y, '▸', theme.Accent)
		}
		to := a.W() - 1 - grid.Width(state)
		a.Right(a.W()-1, y, state, stateSt)
		col := a.Text(1, y, mark, stateSt)
		col = a.Text(col, y, fmt.Sprintf("%-5s", x.ID), theme.Key)
		a.Fit(col, y, to-col-1, x.Title, st)
		if r.n == p.at {
			a.Mark(0, y, a.W(), grid.Selected)
		}
	}
	a.Scroll(a.W()-1, 0, a.H(), p.top, len(p.rows), theme.Line)
}

// about draws what a lesson is about.
func (p *List) about(a grid.Area, x *lessons.Info) {
	y := 1
	say := func(text string, st grid.Style) {
		for _, line := range grid.Lines(text, a.W()-2) {
			a.Text(1, y, line, st)
			y++
		}
	}
	head := fmt.Sprintf("%d min", x.Minutes)
	if x.Steps > 0 {
		head = fmt.Sprintf("%d beats · %d min", x.Steps, x.Minutes)
	}
	say(head, theme.Text)
	switch {
	case x.Done:
		say("You have done it.", theme.Good)
	case x.Step > 1:
		say(fmt.Sprintf("You are at beat %d:", x.Step), theme.Text)
		say(strings.Repeat("●", x.Step-1)+"◉"+strings.Repeat("○", max(x.Steps-x.Step, 0)), theme.Accent)
	case x.Chosen:
		say("This is the one to take next.", theme.Accent)
	}
	y++
	if len(x.Can) > 0 {
		say("You will be able to", theme.Muted)
		for _, can := range x.Can {
			for i, line := range grid.Lines(can, a.W()-4) {
				if i == 0 {
					a.Text(1, y, "-", theme.Muted)
				}
				a.Text(3, y, line, theme.Text)
				y++
			}
		}
		y++
	}
	needs := func(label string, list []lessons.Need) {
		if len(list) == 0 {
			return
		}
		x := a.Text(1, y, label, theme.Muted)
		for _, n := range list {
			mark, st := "○ ", theme.Text
			if n.Done {
				mark, st = "● ", theme.Good
			}
			if x+grid.Width(mark+n.ID) > a.W()-1 {
				x, y = 1+grid.Width(label), y+1
			}
			x = a.Text(x, y, mark+n.ID, st) + 2
		}
		y++
	}
	needs("Needs ", x.Needs)
	needs("Opens ", x.Opens)
	if x.Due > 0 {
		say(words.Count(x.Due, "question")+" to recall today: R", theme.Number)
	}
	if x.From != "" {
		say("From "+x.From, theme.Muted)
	}
	if x.Locked != "" {
		say(x.Locked, theme.Warn)
	}
}

// Beats lists the beats of a lesson, to begin it at one.
func (l *Lesson) Beats(id string) overlay.Overlay {
	p := &overlay.Picker{Title: id + ": begin at", Search: true}
	for i, b := range l.player.Beats(id) {
		mark := "○ "
		if b.Done {
			mark = "● "
		}
		p.Items = append(p.Items, overlay.Item{Label: fmt.Sprintf("%s%2d  %s", mark, i+1, b.Title), Do: action.Begin(id + "#" + b.ID)})
	}
	return p
}

// Done is how many lessons were solved, of how many there are.
func (l *Lesson) Done() (done, all int) {
	if l.None() {
		return 0, 0
	}
	list := l.player.List()
	for _, x := range list {
		if x.Done {
			done++
		}
	}
	return done, len(list)
}
