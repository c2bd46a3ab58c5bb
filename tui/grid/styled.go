package grid

import (
	"image/color"

	"charm.land/lipgloss/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// Ink is the lipgloss style with which a component of bubbles is to draw what
// means s. Its foreground is the number of the role among the 256 colours and
// its background the number of the mark, so that [Area.Styled] finds the role
// again, and the theme stays the only one to know colours.
func Ink(s Style) lipgloss.Style {
	st := lipgloss.NewStyle().Inline(true).Bold(s.Has(Bold)).Faint(s.Has(Faint)).Underline(s.Has(Underline)).
		Reverse(s.Has(Reverse)).Strikethrough(s.Has(Strike))
	if r := s.Role(); r != 0 {
		st = st.Foreground(lipgloss.ANSIColor(r))
	}
	for i, mark := range marks {
		if s.Has(mark) {
			st = st.Background(lipgloss.ANSIColor(i + 1))
		}
	}
	return st
}

// marks are what has a background of its own; the last one that is set counts.
var marks = []Style{Fresh, Selected}

// Styled fills the area with what a component of bubbles gave as its view,
// styled with [Ink].
func (a Area) Styled(view string) {
	if a.R.Empty() {
		return
	}
	buf := uv.NewScreenBuffer(a.W(), a.H())
	uv.NewStyledString(view).Draw(buf, buf.Bounds())
	a.Clear()
	for y := range a.H() {
		for x := range a.W() {
			if c := buf.CellAt(x, y); c != nil {
				a.Text(x, y, c.Content, inked(c.Style)) // nothing, where a wide rune goes on
			}
		}
	}
}

// inked is the style whose ink a cell was drawn with.
func inked(st uv.Style) Style {
	s := Style(number(st.Fg))
	if n := number(st.Bg); n > 0 && int(n) <= len(marks) {
		s |= marks[n-1]
	}
	for _, p := range [...]struct{ cell, grid uint16 }{
		{uv.AttrBold, uint16(Bold)}, {uv.AttrFaint, uint16(Faint)}, {uv.AttrReverse, uint16(Reverse)}, {uv.AttrStrikethrough, uint16(Strike)},
	} {
		if uint16(st.Attrs)&p.cell != 0 {
			s |= Style(p.grid)
		}
	}
	if st.Underline != uv.UnderlineStyleNone {
		s |= Underline
	}
	return s
}

func number(c color.Color) uint8 {
	switch c := c.(type) {
	case ansi.BasicColor:
		return uint8(c)
	case ansi.IndexedColor:
		return uint8(c)
	}
	return 0
}
