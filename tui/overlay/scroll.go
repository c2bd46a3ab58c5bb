package overlay

import (
	"strings"

	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"

	"kviz/tui/grid"
	"kviz/tui/theme"
)

// Row is a line of text: spans side by side.
type Row []grid.Span

// Scroll is text that may be longer and wider than its place: the viewport of
// bubbles, drawn into the grid with a bar at the right. The zero Scroll is
// ready.
type Scroll struct {
	view *viewport.Model // made at the first use
}

func (s *Scroll) model() *viewport.Model {
	if s.view == nil {
		v := viewport.New()
		s.view = &v
	}
	return s.view
}

// Top goes to the first line.
func (s *Scroll) Top() { s.model().GotoTop() }

// By scrolls by lines.
func (s *Scroll) By(lines int) {
	if lines < 0 {
		s.model().ScrollUp(-lines)
	} else {
		s.model().ScrollDown(lines)
	}
}

// Key answers the keys of a viewport, home and end.
func (s *Scroll) Key(k tea.KeyPressMsg) {
	switch k.String() {
	case "home":
		s.model().GotoTop()
	case "end":
		s.model().GotoBottom()
	default:
		*s.model(), _ = s.model().Update(k)
	}
}

// Draw draws rows into the area except for a column at the left and one at the
// right, where the bar is.
func (s *Scroll) Draw(a grid.Area, rows []Row) {
	lines := make([]string, len(rows))
	for i, row := range rows {
		var b strings.Builder
		for _, span := range row {
			b.WriteString(grid.Ink(span.Style).Render(grid.Clean(span.Text)))
		}
		lines[i] = b.String()
	}
	v := s.model()
	v.SetWidth(a.W() - 2)
	v.SetHeight(a.H())
	v.SetContentLines(lines)
	a.Sub(1, 0, a.W()-2, a.H()).Styled(v.View())
	a.Scroll(a.W()-1, 0, a.H(), v.YOffset(), len(rows), theme.Muted)
}
