// Package overlay has what opens over the panes: pickers (palette, faults,
// step sizes, causes, lessons), pages of text (help, an object), and prompts.
// An overlay owns the keyboard while it is open; it answers every key with a
// [Reaction] and never acts itself.
//
// Start reading at [Overlay].
package overlay

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"kviz/tui/action"
	"kviz/tui/grid"
	"kviz/tui/keymap"
)

// Point is a place on the grid.
type Point struct{ X, Y int }

// Reaction is the result of a key or a click.
type Reaction struct {
	Close bool
	Do    action.Action // what was chosen or entered; nil for nothing
}

// Overlay is something open over the panes.
type Overlay interface {
	// Draw draws into the whole screen and gives the place of the cursor.
	Draw(screen grid.Area) (cursor Point, ok bool)
	// Key answers a key press.
	Key(tea.KeyPressMsg) Reaction
	// Paste takes pasted text.
	Paste(string)
	// Click answers a click at a place of the screen.
	Click(x, y int) Reaction
	// Wheel scrolls by lines.
	Wheel(by int)
	// Keys are what the key line shows.
	Keys() []key.Binding
}

// The keys that more than one overlay has.
var (
	closeKey  = keymap.Hint("esc", "close", "esc", "ctrl+c")
	chooseKey = keymap.Hint("⏎", "choose", "enter")
)
