package frame

import (
	"slices"

	"github.com/charmbracelet/colorprofile"

	"kviz/tui/theme"
)

// look is the theme, and whether somebody chose it.
type look struct {
	*theme.Theme
	chosen bool
}

func newLook(name string) look { return look{theme.Named(name), name != ""} }

// Theme is the name of the theme.
func (f *Frame) Theme() string { return f.look.Name }

// ThemeChosen reports whether the theme was chosen, so that it does not follow the
// terminal.
func (f *Frame) ThemeChosen() bool { return f.look.chosen }

// SetTheme chooses a theme by its name.
func (f *Frame) SetTheme(name string) { f.look, f.anew = newLook(name), true }

// NextTheme chooses the next theme.
func (f *Frame) NextTheme() {
	names := theme.Names()
	f.SetTheme(names[(slices.Index(names, f.look.Name)+1)%len(names)])
}

// Background follows the background of the terminal, unless a theme was chosen.
func (f *Frame) Background(dark bool) {
	if f.look.chosen {
		return
	}
	name := "light"
	if dark {
		name = "dark"
	}
	f.look, f.anew = look{Theme: theme.Named(name)}, true
}

// Profile follows how many colours the terminal has, unless a theme was chosen.
func (f *Frame) Profile(p colorprofile.Profile) {
	switch {
	case f.look.chosen:
	case p <= colorprofile.ASCII:
		f.SetTheme("none")
	case p == colorprofile.ANSI:
		f.SetTheme("16")
	}
}
