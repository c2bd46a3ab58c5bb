package handout

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"kviz/tui/grid"
	"kviz/tui/theme"
)

// The page shows each picture as SVG: it is whole on a telephone, sharp on paper, and its lines meet whatever fonts
// there are. The same as text is folded below it, for who copies from it or has it read aloud.
//
//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"safe": safe, "pieces": pieces, "bare": bare, "asked": asked, "answeredBy": answeredBy,
	"kind": func(kind string) string { return kinds[kind] },
	"drawing": func(b Beat) template.HTML {
		return template.HTML(drawing(b.Picture, "The picture of "+bare(b.Title)+"; as text below"))
	},
	"pre":     func(b Beat) template.HTML { return template.HTML(preformatted(b.Picture)) },
	"notes":   func(text string) []string { return strings.Split(text, "\n") },
	"planned": Beat.minutes,
	"plus":    func(n int) int { return n + 1 },
}).Parse(pageText))

// HTML writes the handout as one page.
func (h *Handout) HTML(w io.Writer) error {
	return page.Execute(w, map[string]any{
		"Handout": h, "Lang": h.lang(), "Style": template.CSS(colours() + pageStyle), "Terms": h.terms(), "Elsewhere": h.elsewhere(), "Other": h.otherVersion(),
		"Lead": h.lead(),
	})
}

// lead says what the page is.
func (h *Handout) lead() string {
	return fmt.Sprintf("%d beats, about %d minutes. Every picture and number is from one run of the lesson (seed %d); another run has other ones.",
		len(h.Beats), h.Lesson.Minutes, h.Seed)
}

// colours are the theme's, for a light page and a dark one. Paper is light.
func colours() string {
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
