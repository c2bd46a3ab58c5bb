package edit

import (
	"testing"

	tea "charm.land/bubbletea/v2"
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
