package tuitest

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

// Press is the message of a key's name.
func Press(name string) tea.KeyPressMsg {
	var mod tea.KeyMod
	rest := name
	for {
		if r, ok := strings.CutPrefix(rest, "ctrl+"); ok {
			mod, rest = mod|tea.ModCtrl, r
		} else if r, ok := strings.CutPrefix(rest, "alt+"); ok {
			mod, rest = mod|tea.ModAlt, r
		} else if r, ok := strings.CutPrefix(rest, "shift+"); ok {
			mod, rest = mod|tea.ModShift, r
		} else {
			break
		}
	}
	special := map[string]rune{
		"up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight, "enter": tea.KeyEnter, "esc": tea.KeyEscape,
		"tab": tea.KeyTab, "space": tea.KeySpace, "home": tea.KeyHome, "end": tea.KeyEnd, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown,
		"backspace": tea.KeyBackspace, "delete": tea.KeyDelete, "f1": tea.KeyF1,
	}
	if c, ok := special[rest]; ok {
		text := ""
		if rest == "space" {
			text = " "
		}
		return tea.KeyPressMsg{Code: c, Mod: mod, Text: text}
	}
	r := []rune(rest)[0]
	if mod&^tea.ModShift != 0 {
		return tea.KeyPressMsg{Code: r, Mod: mod}
	}
	return tea.KeyPressMsg{Code: r, Text: rest}
}
