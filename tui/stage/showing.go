package stage

import (
	"fmt"
	"strings"
	"time"

	"kviz/tui/action"
	"kviz/tui/grid"
	"kviz/tui/theme"
)

// showing is what kviz does in the learner's place: it types each command that is offered, so that it can be read, and
// runs it.
type showing struct {
	on     bool
	passed time.Duration // of presentation time, since it began to type
}

// How long a character takes, and how long a command stands before it is run.
const (
	aCharacter = 30 * time.Millisecond
	aLook      = time.Second
)

// typed is the part of a command that has been typed.
func (s showing) typed(line string) string {
	all := []rune(line)
	return string(all[:min(int(s.passed/aCharacter), len(all))])
}

// due reports whether a command was typed and read.
func (s showing) due(line string) bool {
	return s.passed >= time.Duration(len([]rune(line)))*aCharacter+aLook
}

// tick counts the time, and reports whether more is typed.
func (s *showing) tick(stage *Stage, passed time.Duration) bool {
	b := stage.look.Beat
	if !s.on || b == nil || stage.running {
		return false
	}
	if b.Offer == "" || b.Mistake != "" { // all was run
		*s = showing{}
		return true
	}
	s.passed += passed
	return true
}

// Does is what the stage does by itself; nil for nothing.
func (s *Stage) Does() action.Action {
	if !s.On() || !s.show.on || s.running || s.look.Beat == nil || s.look.Beat.Behind {
		return nil
	}
	offer := s.look.Beat.Offer
	if offer == "" || !s.show.due(offer) {
		return nil
	}
	s.show.passed = 0
	return action.Offered(offer)
}

// hearsOf takes what became of the newest command.
func (s *Stage) hearsOf(last Command) {
	if s.running = last.Running; last != s.last && s.look.Beat != nil {
		s.last, s.ran = last, s.look.Beat.Version
	}
}

// said are the last lines of what the beat's newest command printed, with its exit status: at most h rows.
func (s *Stage) said(w, h int) []row {
	b := s.look.Beat
	s.unsaid = b.Acts && !b.Past && s.last.Line != "" && !s.running && s.ran == b.Version
	if !s.unsaid || h < 1 {
		return nil
	}
	s.unsaid = false
	exit, st := "exit 0", theme.Good
	if s.last.Exit != 0 {
		exit, st = fmt.Sprintf("exit %d", s.last.Exit), theme.Bad
	}
	var lines []string
	for _, line := range strings.Split(s.last.Said, "\n") {
		if grid.Width(line) <= w-2 { // a table keeps its blanks
			lines = append(lines, line)
		} else {
			lines = append(lines, grid.Lines(line, w-2)...)
		}
	}
	if over := len(lines) - h; over > 0 {
		lines = lines[over:]
	}
	var rows []row
	for i, line := range lines {
		r := row{{Text: "│ ", Style: theme.Line}, {Text: line, Style: theme.Muted}}
		if i == len(lines)-1 {
			if line == "" {
				r[1].Text = "it printed nothing"
			}
			r = append(r.cut(w-grid.Width(exit)-2), grid.Span{Text: "  " + exit, Style: st})
		}
		rows = append(rows, r)
	}
	return rows
}
