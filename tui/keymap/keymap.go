// Package keymap binds keys to named actions, with the key bindings of bubbles.
// Everything that says which keys there are (the key line, the help, the
// palette) is written from the map in use, so it cannot be out of date; and a
// key is changed by the action's name.
//
// Start reading at [Global].
package keymap

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"charm.land/bubbles/v2/help"
	"charm.land/bubbles/v2/key"

	"kviz/tui/grid"
	"kviz/tui/theme"
)

// Binding binds keys to an action. The embedded binding has the keys, as
// bubbletea names them, and for the key line the first of them with two words.
type Binding struct {
	key.Binding
	Action string // "clock.pause"
	Means  string // a sentence
	Group  string // heading in the help
	Rank   int    // place in the key line, lower first; 0 keeps it out
	Last   bool   // of a pane: it stands behind all others in the key line
}

// Bind binds an action: its two words, a sentence, its keys, the first of
// which is shown.
func Bind(action, words, means string, keys ...string) Binding {
	b := Binding{Action: action, Means: means}
	b.SetHelp("", words)
	return b.with(keys)
}

// with is the binding with other keys.
func (b Binding) with(keys []string) Binding {
	b.SetKeys(keys...)
	first := ""
	if len(keys) > 0 {
		first = Label(keys[0])
	}
	b.SetHelp(first, b.Words())
	return b
}

// Words are the two words for the key line: "pause".
func (b Binding) Words() string { return b.Help().Desc }

// Hint is a binding of keys that the key line shows under one label: "↑↓".
func Hint(label, words string, keys ...string) key.Binding {
	return key.NewBinding(key.WithKeys(keys...), key.WithHelp(label, words))
}

// Hints are bindings without an action, for keys that an overlay or the console
// answers itself. Those that are off are left out.
func Hints(list ...key.Binding) []Binding {
	var out []Binding
	for _, k := range list {
		if k.Enabled() {
			out = append(out, Binding{Binding: k})
		}
	}
	return out
}

// Gap stands between two keys of a key line.
const Gap = "  "

// Line is the key line of bindings in so many columns, as the help of bubbles
// writes it; the grid knows how to draw it ([grid.Area.Styled]).
func Line(list []Binding, width int) string {
	h := help.New()
	h.ShortSeparator, h.Ellipsis = Gap, ""
	h.Styles = help.Styles{ShortKey: grid.Ink(theme.Key), ShortDesc: grid.Ink(theme.Muted)}
	h.SetWidth(max(width, 1))
	keys := make([]key.Binding, len(list))
	for i, b := range list {
		keys[i] = b.Binding
	}
	return h.ShortHelpView(keys)
}

// Map is a set of bindings.
type Map struct {
	list []Binding
	byID map[string]int
}

// New makes a map. Two bindings of one key are a mistake of the program.
func New(list []Binding) *Map {
	m := &Map{list: slices.Clone(list)}
	if err := m.index(); err != nil {
		panic("keymap: " + err.Error())
	}
	return m
}

func (m *Map) index() error {
	m.byID = map[string]int{}
	byKey := map[string]int{}
	for i, b := range m.list {
		if _, dup := m.byID[b.Action]; dup {
			return fmt.Errorf("action %s is bound twice", b.Action)
		}
		m.byID[b.Action] = i
		for _, k := range b.Keys() {
			if j, dup := byKey[k]; dup {
				return fmt.Errorf("key %q is bound to %s and to %s", k, m.list[j].Action, b.Action)
			}
			byKey[k] = i
		}
	}
	return nil
}

// Action is the action of a key, "" if it has none.
func (m *Map) Action(k fmt.Stringer) string { return Action(k, m.list) }

// Action is the action that a list of bindings gives a key, "" if none does.
func Action(k fmt.Stringer, list []Binding) string {
	for _, b := range list {
		if key.Matches(k, b.Binding) {
			return b.Action
		}
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

// Ranked lists the bindings of the key line, the most useful first.
func (m *Map) Ranked() []Binding {
	var out []Binding
	for _, b := range m.list {
		if b.Rank > 0 {
			out = append(out, b)
		}
	}
	slices.SortStableFunc(out, func(a, b Binding) int { return a.Rank - b.Rank })
	return out
}

// Group lists the bindings under a heading of the help.
func (m *Map) Group(name string) []Binding {
	var out []Binding
	for _, b := range m.list {
		if b.Group == name {
			out = append(out, b)
		}
	}
	return out
}

// Rebind gives actions other keys. Unknown actions and keys used twice are
// refused, and the map stays as it was.
func (m *Map) Rebind(keys map[string][]string) error {
	old := slices.Clone(m.list)
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
		m.list[i] = m.list[i].with(keys[a])
	}
	if err := m.index(); err != nil {
		m.list = old
		_ = m.index() // it was sound before
		return fmt.Errorf("keys: %w", err)
	}
	return nil
}

// Reword says in other words what an action does.
func (m *Map) Reword(action, words, means string) {
	if i, ok := m.byID[action]; ok {
		b := m.list[i]
		b.SetHelp(b.Help().Key, words)
		b.Means = means
		m.list[i] = b
	}
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
	var out []string
	for _, k := range b.Keys() {
		out = append(out, Label(k))
	}
	return strings.Join(out, " ")
}
