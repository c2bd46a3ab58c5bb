package overlay

import (
	"testing"

	tea "charm.land/bubbletea/v2"

	"kviz/tui/grid"
	"kviz/tui/theme"
)

// A page scrolls down and to the side, keeps the roles of its spans, and shows
// the escape sequences of user data as text.
func TestScroll(t *testing.T) {
	rows := []Row{
		{{Text: "name ", Style: theme.Name}, {Text: "0123456789abcdef"}},
		{{Text: "\x1b[31mred"}},
		{{Text: "last", Style: theme.Bad | grid.Bold}},
	}
	g := grid.New(12, 2)
	var s Scroll
	for _, c := range []struct {
		key          tea.KeyPressMsg
		text, styles string
	}{
		{tea.KeyPressMsg{}, " name 01234┃\n ·[31mred\n", " dddd tttttm\n tttttttt\n"},
		{tea.KeyPressMsg{Code: tea.KeyRight}, " 123456789a┃\n ed\n", " ttttttttttm\n tt\n"},
		{tea.KeyPressMsg{Code: tea.KeyLeft}, " name 01234┃\n ·[31mred\n", " dddd tttttm\n tttttttt\n"},
		{tea.KeyPressMsg{Code: tea.KeyEnd}, " ·[31mred\n last      ┃\n", " tttttttt\n BBBB      m\n"},
		{tea.KeyPressMsg{Code: 'k', Text: "k"}, " name 01234┃\n ·[31mred\n", " dddd tttttm\n tttttttt\n"},
	} {
		s.Key(c.key)
		g.Area().Clear()
		s.Draw(g.Area(), rows)
		if got := g.Plane(); got != c.text {
			t.Errorf("after %q we see\n%swant\n%s", c.key.String(), got, c.text)
		}
		if got := g.StylePlane(theme.Letter); got != c.styles {
			t.Errorf("after %q the styles are\n%swant\n%s", c.key.String(), got, c.styles)
		}
	}
}
