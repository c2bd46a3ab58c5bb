// Package keymap binds keys to named actions. Everything that says which keys
// there are (the key line, the help, the palette) is written from the map in
// use, so it cannot be out of date; and a key is changed by the action's name.
package keymap

import (
	"fmt"
	"sort"
	"strings"
)

// Binding binds keys to an action.
type Binding struct {
	Action string   // "clock.pause"
	Keys   []string // as bubbletea names them; the first is shown
	Short  string   // two words for the key line: "pause"
	Help   string   // a sentence
	Group  string   // heading in the help
	Rank   int      // place in the key line, lower first; 0 keeps it out
}

// Map is a set of bindings.
type Map struct {
	list  []Binding
	byKey map[string]int
	byID  map[string]int
}

// New makes a map. Two bindings of one key are a mistake of the program.
func New(list []Binding) *Map {
	m := &Map{list: append([]Binding(nil), list...)}
	if err := m.index(); err != nil {
		panic("keymap: " + err.Error())
	}
	return m
}

func (m *Map) index() error {
	m.byKey, m.byID = map[string]int{}, map[string]int{}
	for i, b := range m.list {
		if _, dup := m.byID[b.Action]; dup {
			return fmt.Errorf("action %s is bound twice", b.Action)
		}
		m.byID[b.Action] = i
		for _, k := range b.Keys {
			if j, dup := m.byKey[k]; dup {
				return fmt.Errorf("key %q is bound to %s and to %s", k, m.list[j].Action, b.Action)
			}
			m.byKey[k] = i
		}
	}
	return nil
}

// Action is the action of a key, "" if it has none.
func (m *Map) Action(key string) string {
	if i, ok := m.byKey[key]; ok {
		return m.list[i].Action
	}
	return ""
}

// Get is the binding of an action.
func (m *Map) Get(action string) (Binding, bool) {
	i, ok := m.byID[action]
	if !ok {
		return Binding{}, false
	}
	return m.list[i], true
}

// All lists the bindings in their order.
func (m *Map) All() []Binding { return m.list }

// Rebind gives actions other keys. Unknown actions and keys used twice are
// refused, and the map stays as it was.
func (m *Map) Rebind(keys map[string][]string) error {
	old := append([]Binding(nil), m.list...)
	names := make([]string, 0, len(keys))
	for a := range keys {
		names = append(names, a)
	}
	sort.Strings(names)
	for _, a := range names {
		i, ok := m.byID[a]
		if !ok {
			m.list = old
			return fmt.Errorf("keys: there is no action %q", a)
		}
		m.list[i].Keys = keys[a]
	}
	if err := m.index(); err != nil {
		m.list = old
		_ = m.index() // it was sound before
		return fmt.Errorf("keys: %w", err)
	}
	return nil
}

// Label is how a key is written on the screen.
func Label(key string) string {
	switch key {
	case "left":
		return "←"
	case "right":
		return "→"
	case "up":
		return "↑"
	case "down":
		return "↓"
	case "pgdown":
		return "PgDn"
	case "pgup":
		return "PgUp"
	case "enter":
		return "⏎"
	case "shift+tab":
		return "⇧tab"
	}
	if rest, ok := strings.CutPrefix(key, "ctrl+"); ok {
		return "^" + rest
	}
	return key
}

// Labels writes all keys of a binding.
func (b Binding) Labels() string {
	out := make([]string, 0, len(b.Keys))
	for _, k := range b.Keys {
		out = append(out, Label(k))
	}
	return strings.Join(out, " ")
}
