package edit

import (
	"testing"

	tea "charm.land/bubbletea/v2"

	"kviz/tui/grid"
)

func press(l *Line, keys ...tea.KeyPressMsg) {
	for _, k := range keys {
		l.Key(k)
	}
}

func TestEditing(t *testing.T) {
	var l Line
	l.Insert("kubectl get\npods")
	if l.String() != "kubectl get pods" {
		t.Fatalf("a pasted line break: %q", l.String())
	}
	ctrl := func(r rune) tea.KeyPressMsg { return tea.KeyPressMsg{Code: r, Mod: tea.ModCtrl} }
	press(&l, ctrl('w'), tea.KeyPressMsg{Code: 'x', Text: "é世"})
	if l.String() != "kubectl get é世" {
		t.Fatalf("%q", l.String())
	}
	press(&l, tea.KeyPressMsg{Code: tea.KeyBackspace}, ctrl('a'), ctrl('k'))
	if l.String() != "" {
		t.Fatalf("%q", l.String())
	}
}

func TestHistory(t *testing.T) {
	var l Line
	up, down := tea.KeyPressMsg{Code: tea.KeyUp}, tea.KeyPressMsg{Code: tea.KeyDown}
	for _, s := range []string{"one", "two", "two"} {
		l.Remember(s)
	}
	l.Set("thr")
	press(&l, up, up, up)
	if l.String() != "one" {
		t.Fatalf("up three times gives %q", l.String())
	}
	press(&l, down, down)
	if l.String() != "thr" {
		t.Fatalf("coming back gives %q", l.String())
	}
}

func TestPastingTheHostsClipboardIsOff(t *testing.T) {
	var l Line
	if l.Key(tea.KeyPressMsg{Code: 'v', Mod: tea.ModCtrl}) || l.String() != "" {
		t.Fatalf("ctrl+v gives %q", l.String())
	}
}

func TestTheCursorStaysInSight(t *testing.T) {
	g := grid.New(8, 1)
	var l Line
	l.Insert("get 世界 pods")
	if at := l.Draw(g.Area(), 1, 0, 7, 0); at != 6 {
		t.Errorf("at the end the cursor is in column %d", at)
	}
	if g.Plane() != "  pods\n" {
		t.Errorf("at the end we see %q", g.Plane())
	}
	press(&l, tea.KeyPressMsg{Code: tea.KeyHome}, tea.KeyPressMsg{Code: tea.KeyRight, Mod: tea.ModCtrl}, tea.KeyPressMsg{Code: tea.KeyRight},
		tea.KeyPressMsg{Code: tea.KeyRight})
	g.Area().Clear()
	if at := l.Draw(g.Area(), 1, 0, 7, 0); at != 7 {
		t.Errorf("behind a wide rune the cursor is in column %d", at)
	}
	if g.Plane() != " get 世…\n" {
		t.Errorf("behind a wide rune we see %q", g.Plane())
	}
}
