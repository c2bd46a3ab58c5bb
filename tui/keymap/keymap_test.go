package keymap

import "testing"

func TestGlobalKeysAreUnique(t *testing.T) {
	m := Global() // panics when a key is bound twice
	for _, b := range m.All() {
		if len(b.Keys) == 0 || b.Short == "" || b.Help == "" || b.Group == "" {
			t.Errorf("%s lacks a key, a name, a help or a group", b.Action)
		}
	}
}

func TestRebind(t *testing.T) {
	m := Global()
	if err := m.Rebind(map[string][]string{Pause: {"P", "ctrl+space"}}); err == nil {
		t.Fatal("P has an action already, and was taken")
	}
	if m.Action("space") != Pause {
		t.Fatal("a refused change left a mark")
	}
	if err := m.Rebind(map[string][]string{Pause: {"b"}}); err != nil {
		t.Fatal(err)
	}
	if m.Action("b") != Pause || m.Action("space") != "" {
		t.Fatal("the key did not move")
	}
	if err := m.Rebind(map[string][]string{"no.such": {"b"}}); err == nil {
		t.Fatal("an unknown action was taken")
	}
}
