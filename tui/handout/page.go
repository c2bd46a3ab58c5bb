package handout

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"kviz/tui/web"
)

// The page shows each picture as SVG: it is whole on a telephone, sharp on paper, and its lines meet whatever fonts
// there are. The same as text is folded below it, for who copies from it or has it read aloud.
//
//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"safe": web.Safe, "pieces": web.Pieces, "bare": web.Bare, "asked": asked, "answeredBy": answeredBy,
	"kind": func(kind string) string { return kinds[kind] },
	"drawing": func(b Beat) template.HTML {
		return template.HTML(web.Drawing(b.Picture, "The picture of "+web.Bare(b.Title)+"; as text below"))
	},
	"pre":     func(b Beat) template.HTML { return template.HTML(web.Text(b.Picture)) },
	"notes":   func(text string) []string { return strings.Split(text, "\n") },
	"planned": Beat.minutes,
	"plus":    func(n int) int { return n + 1 },
}).Parse(pageText))

// HTML writes the handout as one page.
func (h *Handout) HTML(w io.Writer) error {
	return page.Execute(w, map[string]any{
		"Handout": h, "Lang": h.lang(), "Style": template.CSS(web.Colours() + web.Style + pageStyle), "Terms": h.terms(), "Elsewhere": h.elsewhere(), "Other": h.otherVersion(),
		"Lead": h.lead(),
	})
}

// lead says what the page is.
func (h *Handout) lead() string {
	return fmt.Sprintf("%d beats, about %d minutes. Every picture and number is from one run of the lesson (seed %d); another run has other ones.",
		len(h.Beats), h.Lesson.Minutes, h.Seed)
}
