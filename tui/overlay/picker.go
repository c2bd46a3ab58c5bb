package overlay

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"github.com/sahilm/fuzzy"

	"kviz/tui/action"
	"kviz/tui/edit"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/theme"
)

// Item is one line of a picker.
type Item struct {
	Label  string
	Key    string // shown right: the key that does the same
	Note   string // shown after the label, muted
	Brief  string // of a list beside the panes: the note where there is little room
	Detail string // shown below the list while the cursor is on it
	Style  grid.Style
	Indent int
	Off    string        // why it cannot be chosen; "" if it can
	Stay   bool          // what it opens lies over this picker
	Do     action.Action // nil for a heading
}

// Picker is a list to choose from, with a search line.
type Picker struct {
	Title  string
	Intro  string
	Brief  string // the intro in one row, where there is no room for it
	Head   string // a row that stays above the list, in line with the labels
	Empty  string // said when nothing matches
	Search bool   // typing narrows the list
	Wide   bool
	Beside bool // it stands beside the panes, which stay in sight
	Items  []Item

	line   edit.Line
	shown  []int // indexes into Items
	at     int   // cursor in shown
	top    int
	box    grid.Rect // where the list's rows were drawn
	primed bool

	perColumn int // rows of a column, where labels stand in columns; 0 where each has a row
	columnW   int
}

// Select puts the cursor on item i.
func (p *Picker) Select(i int) {
	p.prime()
	for n, k := range p.shown {
		if k == i {
			p.at = n
		}
	}
}

// At is the item under the cursor; the number of items where there is none.
func (p *Picker) At() int {
	p.prime()
	if p.at < len(p.shown) {
		return p.shown[p.at]
	}
	return len(p.Items)
}

// Set shows other items.
func (p *Picker) Set(items []Item) {
	p.Items = items
	p.narrow()
}

func (p *Picker) prime() {
	if !p.primed {
		p.primed = true
		p.narrow()
	}
}

func (p *Picker) narrow() {
	p.shown, p.at, p.top = p.shown[:0], 0, 0
	text := p.line.String()
	if text == "" {
		for i := range p.Items {
			p.shown = append(p.shown, i)
		}
		return
	}
	for _, m := range fuzzy.FindFrom(text, source(p.Items)) {
		p.shown = append(p.shown, m.Index)
	}
	// What is called so comes first, then what has the word, then what only has the letters.
	rank := func(i int) int {
		label, word := strings.ToLower(p.Items[i].Label), strings.ToLower(text)
		switch {
		case strings.HasPrefix(label, word):
			return 0
		case strings.Contains(label, word):
			return 1
		}
		return 2
	}
	slices.SortStableFunc(p.shown, func(a, b int) int { return rank(a) - rank(b) })
}

type source []Item

func (s source) String(i int) string { return s[i].Label + " " + s[i].Note }
func (s source) Len() int            { return len(s) }

// Keys implements [Overlay].
func (p *Picker) Keys() []key.Binding {
	k := []key.Binding{keymap.Hint("↑↓", "move", "up", "down"), chooseKey, closeKey}
	if p.Search {
		k = append(k, keymap.Hint("type", "to search", "any"))
	}
	return k
}

// What a picker does. Up to pageDown work while a search is typed, the rest
// only where letters are not typed.
var (
	up           = key.NewBinding(key.WithKeys("up", "ctrl+p", "shift+tab"))
	down         = key.NewBinding(key.WithKeys("down", "ctrl+n", "tab"))
	columnBefore = key.NewBinding(key.WithKeys("left"))
	columnAfter  = key.NewBinding(key.WithKeys("right"))
	pageUp       = key.NewBinding(key.WithKeys("pgup"))
	pageDown     = key.NewBinding(key.WithKeys("pgdown"))
	upToo        = key.NewBinding(key.WithKeys("k"))
	downToo      = key.NewBinding(key.WithKeys("j"))
	leave        = key.NewBinding(key.WithKeys("q"))
	first        = key.NewBinding(key.WithKeys("home"))
	last         = key.NewBinding(key.WithKeys("end"))
)

// Paste implements [Overlay].
func (p *Picker) Paste(s string) {
	if p.Search {
		p.prime()
		p.line.Insert(s)
		p.narrow()
	}
}

// Key implements [Overlay].
func (p *Picker) Key(k tea.KeyPressMsg) Reaction {
	p.prime()
	switch {
	case key.Matches(k, closeKey):
		return Reaction{Close: true}
	case key.Matches(k, chooseKey):
		return p.choose()
	case key.Matches(k, up):
		p.move(-1)
	case key.Matches(k, down):
		p.move(1)
	case p.perColumn > 0 && key.Matches(k, columnBefore) && p.at >= p.perColumn:
		p.move(-p.perColumn)
	case p.perColumn > 0 && key.Matches(k, columnAfter):
		p.move(p.perColumn)
	case key.Matches(k, pageUp):
		p.move(-max(p.box.H-1, 1))
	case key.Matches(k, pageDown):
		p.move(max(p.box.H-1, 1))
	case p.Search && p.line.String() == "" && key.Matches(k, first):
		p.move(-len(p.shown))
	case p.Search && p.line.String() == "" && key.Matches(k, last):
		p.move(len(p.shown))
	case p.Search:
		if p.line.Key(k) {
			p.narrow()
		}
	case key.Matches(k, upToo):
		p.move(-1)
	case key.Matches(k, downToo):
		p.move(1)
	case p.byKey(k.String()):
		return p.choose()
	case key.Matches(k, leave):
		return Reaction{Close: true}
	case key.Matches(k, first):
		p.at = 0
	case key.Matches(k, last):
		p.at = max(len(p.shown)-1, 0)
	}
	return Reaction{}
}

func (p *Picker) choose() Reaction {
	if p.at >= len(p.shown) {
		return Reaction{}
	}
	it := p.Items[p.shown[p.at]]
	if it.Off != "" || it.Do == nil {
		return Reaction{}
	}
	return Reaction{Close: !it.Stay, Do: it.Do}
}

// byKey moves the cursor to the item that shows this key.
func (p *Picker) byKey(name string) bool {
	for n, i := range p.shown {
		if p.Items[i].Key == name {
			p.at = n
			return true
		}
	}
	return false
}

func (p *Picker) move(by int) {
	p.at = max(0, min(p.at+by, len(p.shown)-1))
}

// Wheel implements [Overlay].
func (p *Picker) Wheel(by int) { p.prime(); p.move(by) }

// Click implements [Overlay].
func (p *Picker) Click(x, y int) Reaction {
	p.prime()
	if !p.box.Has(x, y) {
		return Reaction{Close: true}
	}
	n := p.top + y - p.box.Y
	if p.perColumn > 0 {
		n += (x - p.box.X) / max(p.columnW, 1) * p.perColumn
	}
	if n >= len(p.shown) {
		return Reaction{}
	}
	if n == p.at {
		return p.choose()
	}
	p.at = n
	return Reaction{}
}

// Draw implements [Overlay].
func (p *Picker) Draw(screen grid.Area) (Point, bool) {
	p.prime()
	if p.Beside {
		return p.drawBeside(screen)
	}
	w := min(screen.W()-4, max(76, min(p.natural(), 110)))
	if p.Wide {
		w = min(screen.W()-4, 120)
	}
	detail := 0
	for _, it := range p.Items {
		d := it.Detail
		if it.Off != "" {
			d = it.Off
		}
		if d != "" {
			detail = max(detail, min(len(grid.Lines(d, w-4)), 5))
		}
	}
	head := 0
	if p.Search {
		head += 2
	}
	intro := grid.Lines(p.Intro, w-4)
	if p.Intro == "" {
		intro = nil
	}
	head += len(intro)
	if p.Head != "" {
		head++
	}
	tail := 0
	if detail > 0 {
		tail = detail + 1
	}
	h := min(len(p.Items)+head+tail+2, screen.H()-2)
	h = max(h, min(head+tail+5, screen.H()))
	box := screen.Sub((screen.W()-w)/2, max((screen.H()-h)/3, 0), w, h)
	box.Clear()
	in := box.Frame([]grid.Span{{Text: p.Title, Style: theme.Title}}, theme.Accent)
	y := 0
	for _, l := range intro {
		in.Text(1, y, l, theme.Muted)
		y++
	}
	cursor, has := Point{}, false
	if p.Search {
		in.Text(1, y, "›", theme.Accent)
		x := p.line.Draw(in, 3, y, in.W()-4, theme.Text)
		if p.line.String() == "" {
			in.Text(3, y, "type to search", theme.Muted)
		}
		cursor, has = Point{in.R.X + x, in.R.Y + y}, true
		in.HLine(0, y+1, in.W(), theme.Line)
		y += 2
	}
	if p.Head != "" {
		in.Text(2, y, p.Head, theme.Muted)
		y++
	}
	rows := in.Rows(y, in.H()-y-tail)
	p.box = rows.R
	p.list(rows)
	if !has {
		cursor, has = Point{rows.R.X + 1, rows.R.Y + p.at - p.top}, len(p.shown) > 0
	}
	if tail > 0 && p.at < len(p.shown) {
		in.HLine(0, in.H()-tail, in.W(), theme.Line)
		it := p.Items[p.shown[p.at]]
		if it.Off != "" {
			in.Wrap(1, in.H()-detail, in.W()-2, detail, it.Off, theme.Warn)
		} else {
			in.Wrap(1, in.H()-detail, in.W()-2, detail, it.Detail, theme.Text)
		}
	}
	return cursor, has
}

// natural is the width at which no row is cut.
func (p *Picker) natural() int {
	w := 0
	for _, it := range p.Items {
		row := 6 + it.Indent + grid.Width(it.Label)
		if it.Note != "" {
			row += 2 + grid.Width(it.Note)
		}
		if it.Key != "" {
			row += 1 + grid.Width(it.Key)
		}
		w = max(w, row)
	}
	return w
}

func (p *Picker) list(a grid.Area) {
	if len(p.shown) == 0 {
		why := p.Empty
		if why == "" {
			why = "nothing matches “" + p.line.String() + "”"
		}
		a.Wrap(1, 0, a.W()-2, a.H(), why, theme.Muted)
		return
	}
	if p.at < p.top {
		p.top = p.at
	}
	if p.at >= p.top+a.H() {
		p.top = p.at - a.H() + 1
	}
	p.top = max(0, min(p.top, len(p.shown)-a.H()))
	for y := 0; y < a.H() && p.top+y < len(p.shown); y++ {
		it := p.Items[p.shown[p.top+y]]
		st := it.Style
		if it.Off != "" {
			st = theme.Muted
		}
		x := 2 + it.Indent
		right := a.W() - 2
		if it.Key != "" {
			a.Right(right, y, it.Key, theme.Key)
			right -= grid.Width(it.Key) + 1
		}
		x = a.Fit(x, y, right-x, it.Label, st)
		if note := it.beside(p.Beside && a.W() < noteW); note != "" {
			a.Fit(x+2, y, right-x-2, note, theme.Muted)
		}
		if p.top+y == p.at {
			a.Put(0, y, '▸', theme.Accent)
			a.Mark(0, y, a.W(), grid.Selected)
		}
	}
	a.Scroll(a.W()-1, 0, a.H(), p.top, len(p.shown), theme.Line)
}

// Under is what the item under the cursor does, for tests.
func (p *Picker) Under() action.Action {
	p.prime()
	if p.at < len(p.shown) {
		return p.Items[p.shown[p.at]].Do
	}
	return nil
}

// Labels are the labels that are shown, for tests.
func (p *Picker) Labels() string {
	p.prime()
	var b strings.Builder
	for _, i := range p.shown {
		b.WriteString(p.Items[i].Label + "\n")
	}
	return b.String()
}
