package pane

import (
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/theme"
)

// Member is how a member of the store looks: a shape and a colour for its role. The
// colours of terms are for terms and for entries of the log alone: after two elections
// every member would look like a warning in them.
func Member(m *view.Member) (glyph rune, st grid.Style) {
	switch {
	case !m.Up:
		return '✗', theme.Bad
	case m.Role == "leader":
		return '★', theme.Good | grid.Bold
	case m.Role == "candidate":
		return '◇', theme.Busy | grid.Bold
	case m.Learner:
		return '○', theme.Good
	}
	return '●', theme.Good
}
