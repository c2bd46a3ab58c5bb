// Package convert writes lessons of format 1 (steps with long texts, which kviz played once) as drafts of
// format 2: lessons in beats. It is the only thing that still reads format 1, and reads it as text: it does
// not judge what stands there.
//
// What a beat wants and a step did not have (what is ringed, at which event it halts) nobody can make up:
// there the draft says CONVERT: and what a human must decide, and the check refuses it until that is done.
//
// Start reading at [Draft].
package convert

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Files are a lesson's, by their names in its folder.
type Files map[string]string

// format is the one that is read.
const format = "1"

// Draft is a lesson of format 1 as a draft of format 2: each step a chapter, each of its paragraphs and list items a
// beat, the commands in its text offers, its goals those of its last beat.
func Draft(old Files) (Files, error) {
	text, ok := old["lesson.md"]
	if !ok {
		return nil, errors.New("there is no lesson.md")
	}
	front, body, err := divide(text)
	if err != nil {
		return nil, fmt.Errorf("lesson.md: %w", err)
	}
	l := &lesson{solution: old["solution.sh"]}
	head, err := l.front(front)
	if err != nil {
		return nil, fmt.Errorf("lesson.md: %w", err)
	}
	steps, err := read(body)
	if err != nil {
		return nil, fmt.Errorf("lesson.md: %w", err)
	}
	var out strings.Builder
	out.WriteString(head)
	for i, s := range steps {
		l.chapter(&out, s, i == 0)
	}
	draft := Files{"lesson.md": out.String()}
	for name, script := range old {
		switch dir := path.Dir(name); {
		case name == "lesson.md", name == "solution.sh": // what beats offer is the solution
		case dir == "accepted", dir == "near-miss":
			draft[dir+"/"+l.last+"."+path.Base(name)] = script
		default:
			draft[name] = script
		}
	}
	return draft, nil
}

// lesson is what is known of the lesson while its draft is written.
type lesson struct {
	view     string // the pane that was shown first, for the first beat
	solution string
	last     string // the last beat in which something is done
}

var (
	formatForm = regexp.MustCompile(`(?m)^format: *(\d+) *$`)
	viewForm   = regexp.MustCompile(`(?m)^view: *\[([^\]]*)\] *\n?`)
)

// divide is the front matter, and what comes after it.
func divide(text string) (front, body string, err error) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	rest, ok := strings.CutPrefix(text, "---\n")
	if ok {
		if front, body, ok = strings.Cut(rest, "\n---\n"); ok {
			return front + "\n", body, nil
		}
	}
	return "", "", errors.New("it does not begin with a front matter between two lines ---")
}

// front is the front matter as format 2 has it.
func (l *lesson) front(front string) (string, error) {
	m := formatForm.FindStringSubmatch(front)
	if m == nil || m[1] != format {
		return "", errors.New("it has not format: 1; there is nothing to convert")
	}
	if v := viewForm.FindStringSubmatch(front); v != nil {
		l.view, _, _ = strings.Cut(v[1], ",")
	}
	front = viewForm.ReplaceAllString(front, "")
	return "---\n" + formatForm.ReplaceAllString(front, "format: 2\nversion: 1") + "---\n", nil
}

// step is one of the old lesson.
type step struct {
	title, id, view, kind string
	paragraphs            []string // in their order; a list item is one
	commands              []string
	blocks                []string // goals and questions, as they stand there
	notes                 []string
}

var headingForm = regexp.MustCompile(`^## (.+?) \{#([a-z0-9-]+)(?: view=([a-z,]+))?\} (see|predict|do|break|free)$`)

// read reads the steps.
func read(body string) (all []*step, err error) {
	var s *step
	var prose []string
	end := func() {
		if s != nil {
			s.read(strings.Join(prose, "\n"))
		}
		prose = nil
	}
	lines := strings.Split(body, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch {
		case strings.HasPrefix(line, "## "):
			end()
			m := headingForm.FindStringSubmatch(strings.TrimRight(line, " "))
			if m == nil {
				return nil, fmt.Errorf("%q is no step: want ## Title {#id} see|predict|do|break|free", line)
			}
			s = &step{title: m[1], id: m[2], view: m[3], kind: m[4]}
			all = append(all, s)
		case s == nil && strings.TrimSpace(line) != "":
			return nil, errors.New("text before the first step (## Title {#id} kind)")
		case strings.HasPrefix(line, "```goal"), strings.HasPrefix(line, "```question"):
			n := slices.Index(lines[i:], "```")
			if n < 0 {
				return nil, fmt.Errorf("%q has no closing line", line)
			}
			s.blocks = append(s.blocks, strings.Join(lines[i:i+n+1], "\n"))
			i += n
		default:
			prose = append(prose, line)
		}
	}
	end()
	if len(all) == 0 {
		return nil, errors.New("it has no steps")
	}
	return all, nil
}

var noteForm = regexp.MustCompile(`(?s)<!-- note: .*? -->`)

// read takes a step's prose apart.
func (s *step) read(prose string) {
	s.notes = noteForm.FindAllString(prose, -1)
	prose = noteForm.ReplaceAllString(prose, "")
	var part []string
	end := func() {
		if text := strings.Join(part, " "); text != "" {
			s.paragraphs = append(s.paragraphs, text)
		}
		part = nil
	}
	for line := range strings.SplitSeq(prose, "\n") {
		trimmed := strings.TrimSpace(line)
		item, isItem := strings.CutPrefix(trimmed, "- ")
		switch {
		case trimmed == "", strings.HasPrefix(trimmed, "```"):
			end()
		case strings.HasPrefix(line, "    ") && len(part) == 0:
			s.commands = append(s.commands, trimmed)
		case isItem:
			end()
			part = append(part, item)
		default:
			part = append(part, trimmed)
		}
	}
	end()
}
