package convert

import (
	"fmt"
	"regexp"
	"strings"
)

// Mark is what stands in a draft where a human must decide.
const Mark = "CONVERT:"

// chapter writes a step as a chapter of beats.
func (l *lesson) chapter(out *strings.Builder, s *step, first bool) {
	fmt.Fprintf(out, "\n## %s\n", s.title)
	paragraphs := s.paragraphs
	if len(paragraphs) == 0 {
		paragraphs = []string{""}
	}
	for i, text := range paragraphs {
		last := i == len(paragraphs)-1
		kind, id := "see", s.id
		if last {
			kind = s.kind
		} else {
			id = fmt.Sprintf("%s-%d", s.id, i+1)
		}
		fmt.Fprintf(out, "\n### %s {#%s} %s\n", title(text, s.title), id, kind)
		if text != "" {
			out.WriteString(text + "\n")
		}
		var marks []string
		if n := len(strings.Fields(text)); n > mostWords {
			marks = append(marks, fmt.Sprintf("%d words; at most %d: one idea, one change", n, mostWords))
		}
		if valueForm.MatchString(text) {
			marks = append(marks, "in the text {…} stands for the value of an expression now")
		}
		show := ""
		if i == 0 {
			show = s.pane()
			if first && show == "" {
				show = l.view
			}
		}
		l.stage(out, kind, show, marks, first && i == 0)
		if !last {
			continue
		}
		if kind == "do" || kind == "break" || kind == "free" {
			l.last = id
			l.offers(out, s, kind)
		}
		for _, block := range s.blocks {
			out.WriteString("\n" + block + "\n")
		}
		if kind == "free" && len(s.blocks) == 0 {
			fmt.Fprintf(out, "\n```goal\n# %s a free beat has an optional goal: id, say, optional: true, one of edge and level, hints\nid: %s-tried\nsay: something was tried\noptional: true\nedge: event.kind == \"fault.inject\"\n```\n", Mark, id)
		}
	}
	for _, note := range s.notes {
		out.WriteString("\n" + note + "\n")
	}
}

// mostWords is how many words a beat has at most.
const mostWords = 45

var valueForm = regexp.MustCompile(`\{[A-Za-z]`)

// pane is the first of those that the step showed.
func (s *step) pane() string {
	name, _, _ := strings.Cut(s.view, ",")
	return name
}

// stage writes what a beat has on the stage, with what has to be decided.
func (l *lesson) stage(out *strings.Builder, kind, show string, marks []string, first bool) {
	switch {
	case kind == "see":
		marks = append(marks, "spot: the cell that it is about; stop: the event at which its change has come, or still: true")
	case show == "" && len(marks) == 0 && !first:
		return
	}
	if show != "" {
		marks = append(marks, "show: which view of the pane, such as store/logs")
	}
	out.WriteString("\n```stage\n")
	if show != "" {
		fmt.Fprintf(out, "show: %s\n", show)
	} else if first {
		marks = append(marks, "show: what stands on the stage first")
	}
	for _, m := range marks {
		fmt.Fprintf(out, "# %s %s\n", Mark, m)
	}
	out.WriteString("```\n")
}

// offers writes the commands that a beat offers: those in the step's text, else what the solution has is shown.
func (l *lesson) offers(out *strings.Builder, s *step, kind string) {
	if kind == "free" && len(s.commands) == 0 {
		return
	}
	out.WriteString("\n```offer\n")
	for _, c := range s.commands {
		fmt.Fprintf(out, "- %s\n", quoted(c))
		if strings.Contains(c, "…") {
			fmt.Fprintf(out, "# %s it is run as it is printed: {name} of a let stands for what … does\n", Mark)
		}
	}
	if kind != "free" {
		fmt.Fprintf(out, "# %s the commands that reach the goals, in order. solution.sh had:\n", Mark)
		for line := range strings.Lines(l.solution) {
			fmt.Fprintf(out, "#   %s\n", strings.TrimRight(line, "\n"))
		}
	}
	if len(s.commands) == 0 {
		out.WriteString("[]\n")
	}
	out.WriteString("```\n")
}

// quoted is a command as a YAML list has it.
func quoted(command string) string { return "'" + strings.ReplaceAll(command, "'", "''") + "'" }

// title is a beat's, from the first words of its text.
func title(text, of string) string {
	words := strings.Fields(strings.NewReplacer("**", "", "`", "", "{", "", "}", "").Replace(text))
	if len(words) == 0 {
		return of
	}
	cut := strings.Join(words[:min(len(words), 5)], " ")
	return strings.TrimRight(cut, ".,:;")
}
