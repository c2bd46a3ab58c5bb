package web

import (
	_ "embed"
	"fmt"
	"strings"

	"kviz/tui/grid"
	"kviz/tui/theme"
)

// roles are the classes of what cells mean, by role.
var roles = [theme.Roles]string{
	"text", "muted", "line", "accent", "title", "key", "good", "warn", "bad", "busy", "added", "removed", "name", "number",
	"event", "cause", "past", "term0", "term1", "term2", "term3", "term4", "term5", "shadow",
}

// classes are those of a style.
func classes(s grid.Style) string {
	role := s.Role()
	if int(role) >= len(roles) {
		role = 0
	}
	all := []string{"r-" + roles[role]}
	if theme.Emphasised(s) {
		all = append(all, "b")
	}
	for _, one := range []struct {
		attr  grid.Style
		class string
	}{{grid.Faint, "f"}, {grid.Underline, "u"}, {grid.Strike, "s"}, {grid.Reverse, "rev"}, {grid.Selected, "sel"}, {grid.Fresh, "fre"}} {
		if s.Has(one.attr) {
			all = append(all, one.class)
		}
	}
	return strings.Join(all, " ")
}

// Style is how pictures and code look, for a page that has the [Colours].
//
//go:embed picture.css
var Style string

// Colours are the theme's, as CSS, for a light page and a dark one. Paper is light.
func Colours() string {
	var light, dark, of strings.Builder
	for role, name := range roles {
		onDark, onLight := theme.Colours(grid.Style(role))
		fmt.Fprintf(&light, "--%s:%s;", name, onLight)
		fmt.Fprintf(&dark, "--%s:%s;", name, onDark)
		fmt.Fprintf(&of, ".r-%s{color:var(--%s)}\n", name, name)
	}
	for i, attr := range []grid.Style{grid.Selected, grid.Fresh} {
		onDark, onLight := theme.Ground(attr)
		name := []string{"selected", "fresh"}[i]
		fmt.Fprintf(&light, "--%s:%s;", name, onLight)
		fmt.Fprintf(&dark, "--%s:%s;", name, onDark)
	}
	return fmt.Sprintf(":root{--page:#ffffff;--panel:#f6f8fa;--rule:#d5dbe2;%s}\n@media screen and (prefers-color-scheme: dark){:root{--page:#14181d;--panel:#1b2027;--rule:#333b46;%s}}\n%s",
		light.String(), dark.String(), of.String())
}
