package keymap

import (
	"testing"

	tea "charm.land/bubbletea/v2"
)

func TestGlobalKeysAreUnique(t *testing.T) {
	m := Global([]string{"one", "two"}) // panics when a key is bound twice
	for _, b := range m.All() {
		if len(b.Keys()) == 0 || b.Words() == "" || b.Means == "" || b.Group == "" {
			t.Errorf("%s lacks a key, a name, a help or a group", b.Action)
		}
	}
}

func TestRebind(t *testing.T) {
	m := Global([]string{"one", "two"})
	if err := m.Rebind(map[string][]string{Pause: {"P", "ctrl+space"}}); err == nil {
		t.Fatal("P has an action already, and was taken")
	}
	if m.Action(tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}) != Pause {
		t.Fatal("a refused change left a mark")
	}
	if err := m.Rebind(map[string][]string{Pause: {"Q"}}); err != nil {
		t.Fatal(err)
	}
	if m.Action(tea.KeyPressMsg{Code: 'Q', Text: "Q"}) != Pause || m.Action(tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}) != "" {
		t.Fatal("the key did not move")
	}
	if b, _ := m.Get(Pause); b.Help().Key != "Q" || b.Words() != "pause" {
		t.Fatalf("the key line still says %+v", b.Help())
	}
	if err := m.Rebind(map[string][]string{"no.such": {"Q"}}); err == nil {
		t.Fatal("an unknown action was taken")
	}
}
