package handout

import (
	"fmt"
	"html"
	"io"
	"strings"

	"kviz/lessons"
	"kviz/tui/class/result"
	"kviz/tui/web"
)

// Markdown writes the handout for a forge or a wiki. Pictures are text; answers are folded where the reader's program
// folds.
func (h *Handout) Markdown(w io.Writer) error {
	m := &pages{}
	l := h.Lesson
	m.par("# %s %s", l.ID, literal(l.Title))
	m.par("%s", h.lead())
	if other := h.otherVersion(); other != "" {
		m.par("**%s**", literal(other))
	}
	m.par("## You will be able to")
	for _, text := range l.Teaches {
		m.line("- %s", marked(text))
	}
	m.par("\nTake it yourself: `kviz lesson start %s`", l.ID)
	chapter := ""
	for i, b := range h.Beats {
		if b.Chapter != chapter {
			chapter = b.Chapter
			m.par("## %s", literal(chapter))
		}
		h.markdownBeat(m, i+1, b)
	}
	if elsewhere := h.elsewhere(); len(elsewhere) > 0 {
		m.par("## The class was also asked")
		for _, p := range elsewhere {
			m.poll(p)
		}
	}
	if terms := h.terms(); len(terms) > 0 {
		m.par("## Words of this lesson")
		for _, t := range terms {
			m.line("- **%s**: %s", literal(t.Word), literal(t.Means))
		}
	}
	_, err := io.WriteString(w, m.String())
	return err
}

func (h *Handout) markdownBeat(m *pages, n int, b Beat) {
	m.par("### %d. %s", n, marked(b.Title))
	says := kinds[b.Kind]
	if h.Notes && b.minutes() != "" {
		says += ", planned " + b.minutes()
	}
	m.par("*%s* · `kviz open %s`", says, h.Link(b.ID))
	for _, text := range b.Says {
		m.par("%s", marked(text))
	}
	if b.Picture != nil {
		m.fenced("text", b.Picture.Plane())
	}
	if len(b.Commands) > 0 {
		var lines []string
		for _, c := range b.Commands {
			lines = append(lines, web.Safe(c.Line))
		}
		m.fenced("sh", strings.Join(lines, "\n"))
	}
	for _, g := range b.Goals {
		m.line("- [ ] %s%s", marked(g.Say), ifLiked(g))
	}
	if q := b.Asks; q != nil {
		m.par("\n**%s** %s", marked(q.Ask), asked(q))
		for _, text := range q.Items {
			m.line("- %s", marked(text))
		}
		for i, text := range q.Choices {
			m.line("%d. %s", i+1, marked(text))
		}
		m.par("\n<details><summary>What happened, and why</summary>")
		for _, a := range q.Answers {
			m.line("- %s", marked(answerLine(a)))
		}
		if by := answeredBy(q); by != "" {
			m.par("\n%s", literal(by))
		}
	}
	for _, p := range h.Class.Of(b.ID) {
		m.poll(p)
	}
	if b.Asks != nil {
		m.par("\n</details>")
	}
	if h.Notes && b.Notes != "" {
		for _, note := range strings.Split(b.Notes, "\n") {
			m.par("> %s", marked(note))
		}
	}
}

func ifLiked(g lessons.SheetGoal) string {
	if g.Optional {
		return " (if you like)"
	}
	return ""
}

// answerLine is an answer in a line.
func answerLine(a lessons.SheetAnswer) string {
	mark := "✗ "
	if a.Right {
		mark = "✓ "
	}
	if a.Why == "" {
		return mark + a.Text
	}
	return mark + a.Text + ". " + a.Why
}

// pages are a text that is being written.
type pages struct{ strings.Builder }

func (m *pages) line(format string, args ...any) { fmt.Fprintf(m, format+"\n", args...) }
func (m *pages) par(format string, args ...any)  { m.line(format+"\n", args...) }

// fenced writes a block, in a fence that nothing in it ends.
func (m *pages) fenced(kind, text string) {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	m.par("%s%s\n%s\n%s", fence, kind, strings.TrimRight(text, "\n"), fence)
}

func (m *pages) poll(p result.Poll) {
	m.par("\nThe class: %d answered “%s”", p.Voted(), literal(p.Question))
	m.line("| answer | students | |\n|---|---:|---:|")
	for _, a := range p.Answers {
		text := literal(a.Text)
		if a.Right {
			text = "**✓ " + text + "**"
		}
		m.line("| %s | %d | %d %% |", text, a.Count, p.Share(a))
	}
	m.line("")
}

// signs are what Markdown might take for more than a sign.
var signs = strings.NewReplacer(func() (all []string) {
	for _, c := range "\\`*_{}[]()#+-!|~" {
		all = append(all, string(c), "\\"+string(c))
	}
	return all
}()...)

// literal is a text as it stands, in Markdown.
func literal(text string) string {
	return html.EscapeString(signs.Replace(strings.ReplaceAll(web.Safe(text), "\n", " ")))
}

// marked is a text with its marks, in Markdown.
func marked(text string) string {
	var b strings.Builder
	for _, p := range web.Pieces(text) {
		switch {
		case p.Code:
			b.WriteString("<code>" + literal(p.Text) + "</code>")
		case p.Strong:
			b.WriteString("**" + literal(p.Text) + "**")
		default:
			b.WriteString(literal(p.Text))
		}
	}
	return b.String()
}
