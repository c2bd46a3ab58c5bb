package overlay

import (
	"strings"

	"kviz/tui/grid"
	"kviz/tui/theme"
)

// Sider is an overlay that may stand beside the panes instead of over them.
type Sider interface {
	Overlay
	StandsBeside() bool
}

// StandsBeside implements [Sider].
func (p *Picker) StandsBeside() bool { return p.Beside }

// noteW is how wide a list must be to have notes in its rows; a narrower one has short ones, and the note of the item under
// the cursor below.
const noteW = 60

// beside is the note that stands in the item's row.
func (it *Item) beside(narrow bool) string {
	if narrow {
		return it.Brief
	}
	return it.Note
}

// drawBeside draws the picker as a part of the screen of its own: what it is about where
// there is room, then the list.
func (p *Picker) drawBeside(a grid.Area) (Point, bool) {
	a.Clear()
	intro, note := grid.Lines(p.Intro, a.W()-4), 0
	if a.W()-2 < noteW {
		note = 4
	}
	need := len(p.Items) + note + 2
	if need+len(intro)+1 > a.H() {
		intro = nil
	} else if len(intro) > 0 {
		need += len(intro) + 1
	}
	in := a.Sub(0, 0, a.W(), min(need, a.H())).Frame([]grid.Span{{Text: p.Title, Style: theme.Title}}, theme.Accent)
	for y, l := range intro {
		in.Text(1, y, l, theme.Muted)
	}
	from := 0
	if len(intro) > 0 {
		from = len(intro) + 1
	}
	if n := in.H() - 1; from == 0 && note == 0 && !p.Search && in.H() < len(p.Items) && n > 0 && (len(p.Items)+n-1)/n <= mostColumns {
		return p.inColumns(in, n), len(p.shown) > 0
	}
	p.perColumn = 0
	rows := in.Rows(from, min(len(p.Items), in.H()-from))
	p.box = rows.R
	p.list(rows)
	if y := from + rows.H(); note > 0 && y+2 < in.H() && p.at < len(p.shown) {
		in.HLine(0, y, in.W(), theme.Line)
		in.Wrap(1, y+1, in.W()-2, in.H()-y-1, p.Items[p.shown[p.at]].Note, theme.Text)
	}
	return Point{rows.R.X + 1, rows.R.Y + p.at - p.top}, len(p.shown) > 0
}

// mostColumns is beside how many others a column of labels may stand.
const mostColumns = 3

// inColumns draws the labels in columns of so many rows, where there is not a row for each, and
// what the one under the cursor does below. It gives the place of the cursor.
func (p *Picker) inColumns(in grid.Area, n int) Point {
	p.perColumn, p.top = n, 0
	cols := (len(p.shown) + n - 1) / n
	p.columnW = in.W() / max(cols, 1)
	p.box = in.Rows(0, n).R
	for i, k := range p.shown {
		it, x, y := p.Items[k], i/n*p.columnW, i%n
		mark, st := "  ", theme.Text
		if i == p.at {
			mark, st = "▸ ", theme.Title
		}
		row := in.Sub(x, y, p.columnW-1, 1)
		end := row.Spans(0, 0, grid.Span{Text: mark, Style: theme.Accent}, grid.Span{Text: strings.TrimSpace(it.Label), Style: st | it.Style})
		right := row.W()
		if it.Key != "" {
			row.Right(right, 0, it.Key, theme.Key)
			right -= grid.Width(it.Key) + 1
		}
		if at := max(end+1, 14); grid.Width(it.Brief) <= right-at {
			row.Text(at, 0, it.Brief, theme.Muted)
		}
		if i == p.at {
			row.Mark(0, 0, row.W(), grid.Selected)
		}
	}
	if p.at < len(p.shown) {
		says := p.Brief
		if says == "" {
			says = p.Items[p.shown[p.at]].Note
		}
		in.Fit(2, n, in.W()-3, says, theme.Text)
	}
	return Point{in.R.X + p.at/n*p.columnW + 1, in.R.Y + p.at%n}
}
