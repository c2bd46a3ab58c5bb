package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"kviz/cluster/nearest"
	"kviz/tui"
	"kviz/tui/motion"
	"kviz/tui/theme"
)

// look is how the explorer is to look.
type look struct {
	theme  string
	motion string
}

func (l *look) register(f *pflag.FlagSet) {
	f.StringVar(&l.theme, "theme", "", "dark, light, 16 or none (default: what the terminal has)")
	f.StringVar(&l.motion, "motion", "", "how much may move: full, calm or none (default: full; none where NO_MOTION is set)")
}

// config is the look as the explorer takes it.
func (l *look) config() tui.Config { return tui.Config{Theme: l.theme, Motion: l.motion} }

// knownLook refuses a theme or a motion that there is not.
func knownLook(cfg tui.Config) error {
	return errors.Join(oneOf("theme", cfg.Theme, theme.Names()), oneOf("motion", cfg.Motion, motion.Modes()))
}

func oneOf(flag, name string, all []string) error {
	if name == "" || slices.Contains(all, name) {
		return nil
	}
	text := fmt.Sprintf("--%s %q: want %s", flag, name, strings.Join(all, ", "))
	if near := nearest.To(name, all); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return &usageError{text: text}
}

// plainLook is whether the explorer writes lines of text, and which.
type plainLook struct{ plain, all bool }

func (l *plainLook) register(f *pflag.FlagSet, more string) {
	f.BoolVar(&l.plain, "plain", false, "tell what happens in sentences instead of showing a screen"+more)
	f.BoolVar(&l.all, "all", false, "with --plain: one explained line for every event")
}

func (l *plainLook) into(cfg *tui.Config) error {
	if l.all && !l.plain {
		return &usageError{text: "--all says what --plain writes, and goes with it"}
	}
	cfg.Plain, cfg.PlainAll = l.plain, l.all
	return nil
}
