package handout

import (
	"fmt"
	"io"
	"strings"

	"kviz/tui/class/result"
	"kviz/tui/grid"
	"kviz/tui/web"
)

// columns is how wide lines of text are.
const columns = 80

// Text writes the handout as lines of text. Nothing can be folded there: the answers stand at the end.
func (h *Handout) Text(w io.Writer) error {
	t := &lines{}
	l := h.Lesson
	t.say("", "%s %s", l.ID, web.Safe(l.Title))
	t.line("%s\n", strings.Repeat("=", min(grid.Width(l.ID+" "+web.Safe(l.Title)), columns)))
	t.say("", "%s", h.lead())
	t.say("", "%s", h.otherVersion())
	t.line("\nYou will be able to")
	for _, text := range l.Teaches {
		t.say("- ", "%s", web.Bare(text))
	}
	t.line("\nTake it yourself: kviz lesson start %s", l.ID)
	for i, b := range h.Beats {
		h.textBeat(t, i+1, b)
	}
	if elsewhere := h.elsewhere(); len(elsewhere) > 0 {
		t.line("\nThe class was also asked")
		for _, p := range elsewhere {
			t.poll(p)
		}
	}
	if terms := h.terms(); len(terms) > 0 {
		t.line("\nWords of this lesson\n")
		for _, one := range terms {
			t.say("- ", "%s: %s", one.Word, one.Means)
		}
	}
	t.line("\nAnswers")
	for i, b := range h.Beats {
		q := b.Asks
		if q == nil {
			continue
		}
		t.say("\n", "%d. %s", i+1, web.Bare(q.Ask))
		for _, a := range q.Answers {
			t.say("  ", "%s", web.Bare(answerLine(a)))
		}
		t.say("  ", "%s", answeredBy(q))
		for _, p := range h.Class.Of(b.ID) {
			t.poll(p)
		}
	}
	_, err := io.WriteString(w, t.String())
	return err
}

func (h *Handout) textBeat(t *lines, n int, b Beat) {
	says := kinds[b.Kind]
	if h.Notes && b.minutes() != "" {
		says += ", planned " + b.minutes()
	}
	t.line("\n%s", strings.Repeat("-", columns))
	t.say("", "%d. %s (%s)", n, web.Bare(b.Title), says)
	for _, text := range b.Says {
		t.say("\n", "%s", web.Bare(text))
	}
	if b.Picture != nil {
		t.line("\n%s", strings.TrimRight(b.Picture.Plane(), "\n"))
	}
	if len(b.Commands)+len(b.Goals) > 0 {
		t.line("")
	}
	for _, c := range b.Commands {
		t.line("  $ %s", web.Safe(c.Line))
	}
	for _, g := range b.Goals {
		t.say("  ○ ", "%s%s", web.Bare(g.Say), ifLiked(g))
	}
	if q := b.Asks; q != nil {
		t.say("\n", "%s %s", web.Bare(q.Ask), asked(q))
		for _, text := range q.Items {
			t.say("  - ", "%s", web.Bare(text))
		}
		for i, text := range q.Choices {
			t.say("  ", "%d) %s", i+1, web.Bare(text))
		}
	} else {
		for _, p := range h.Class.Of(b.ID) {
			t.poll(p)
		}
	}
	if h.Notes && b.Notes != "" {
		for _, note := range strings.Split(b.Notes, "\n") {
			t.say("  Note: ", "%s", web.Bare(note))
		}
	}
	t.line("\nkviz open %s", h.Link(b.ID))
}

// lines are a text that is being written.
type lines struct{ pages }

// say writes a text in as many lines as it takes, the first one after a mark; nothing where there is none.
func (t *lines) say(mark, format string, args ...any) {
	text := strings.TrimSpace(fmt.Sprintf(format, args...))
	if text == "" {
		return
	}
	if rest, blank := strings.CutPrefix(mark, "\n"); blank {
		t.line("")
		mark = rest
	}
	in := strings.Repeat(" ", grid.Width(mark))
	for i, line := range grid.Lines(text, columns-len(in)) {
		if i == 0 {
			t.line("%s%s", mark, line)
		} else {
			t.line("%s%s", in, line)
		}
	}
}

// poll writes what the class said, with a bar for each answer.
func (t *lines) poll(p result.Poll) {
	t.say("\n  ", "The class: %d answered “%s”", p.Voted(), web.Safe(p.Question))
	for _, a := range p.Answers {
		mark := " "
		if a.Right {
			mark = "✓"
		}
		t.line("  %s %s %s %4d  %3d %%", mark, grid.Pad(web.Safe(a.Text), 40), grid.Pad(strings.Repeat("█", (p.Share(a)+4)/5), 20), a.Count, p.Share(a))
	}
}
