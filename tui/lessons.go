package tui

import (
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kviz/tui/grid"
	"kviz/tui/overlay"
	"kviz/tui/theme"
)

func (m *Explorer) toggleLesson() {
	if m.cfg.Lessons == nil {
		m.say("there are no lessons here")
		return
	}
	if !m.lessonLook.Active {
		m.push(m.lessons())
		return
	}
	m.lessonOpen, m.all = !m.lessonOpen, true
}

func (m *Explorer) lessons() overlay.Overlay {
	p := &overlay.Picker{Title: "Lessons", Search: true, Wide: true}
	part := ""
	at := -1
	for _, l := range m.cfg.Lessons.List() {
		if l.Part != part {
			part = l.Part
			p.Items = append(p.Items, overlay.Item{Label: part, Style: theme.Title})
		}
		it := overlay.Item{Label: "○ " + l.Title, Note: l.Teaches, Indent: 2, Off: l.Locked, Value: beginLesson(l.ID), Key: fmt.Sprintf("%d min", l.Minutes),
			Detail: "Teaches: " + l.Teaches}
		if l.Done {
			it.Label, it.Style = "● "+l.Title, theme.Good
		} else if at < 0 && l.Locked == "" {
			at = len(p.Items)
		}
		p.Items = append(p.Items, it)
	}
	if at >= 0 {
		p.Select(at)
	}
	return p
}

func (m *Explorer) startLesson(id string) {
	if m.cfg.Lessons == nil {
		m.say("there are no lessons here")
		return
	}
	if err := m.cfg.Lessons.Start(id); err != nil {
		m.say(err.Error())
		return
	}
	m.lessonOpen, m.all, m.dirty = true, true, true
	m.lessonText.Top()
	m.lessonLook = m.cfg.Lessons.Look(m.state)
}

// lessonKey answers the keys of the lesson pane.
func (m *Explorer) lessonKey(name string) (tea.Cmd, bool) {
	action := ""
	switch name {
	case "ctrl+n":
		action = "next"
	case "ctrl+b":
		action = "back"
	case "ctrl+h", "ctrl+t":
		action = "hint"
	case "ctrl+r":
		action = "restart"
	case "ctrl+x":
		action = "leave"
	default:
		n, err := strconv.Atoi(strings.TrimPrefix(name, "alt+"))
		if err != nil || !strings.HasPrefix(name, "alt+") {
			return nil, false
		}
		action = fmt.Sprintf("answer %d", n)
	}
	if err := m.cfg.Lessons.Do(action); err != nil {
		m.say(err.Error())
	}
	m.lessonText.Top()
	m.lessonLook = m.cfg.Lessons.Look(m.state)
	if action == "leave" {
		m.lessonOpen, m.all = false, true
	}
	return m.tick(), true
}

// drawLesson draws the lesson's step.
func (m *Explorer) drawLesson(a grid.Area) {
	l := m.lessonLook
	a.Clear()
	kinds := map[string]string{"see": "look", "predict": "predict", "do": "do", "break": "break it", "free": "your turn"}
	title := []grid.Span{{Text: l.Title, Style: theme.Title}}
	if l.Steps > 0 {
		title = append([]grid.Span{{Text: fmt.Sprintf("%d/%d %s · ", l.Step, l.Steps, kinds[l.Kind]), Style: theme.Key}}, title...)
	}
	in := a.Frame(title, theme.Accent)
	rows := lessonRows(l, in.W()-2)
	m.lessonText.Draw(in.Rows(0, in.H()-1), rows)
	hints := []string{"^n", "next", "^t", "hint", "^b", "back", "^x", "leave"}
	if len(l.Choices) > 0 && !l.Answered {
		hints = append([]string{"alt+1", "answer"}, hints...)
	}
	x := 1
	for i := 0; i+1 < len(hints); i += 2 {
		st := theme.Key
		if hints[i] == "^n" && !l.CanNext {
			st = theme.Muted
		}
		x = in.Text(x, in.H()-1, hints[i], st)
		x = in.Text(x+1, in.H()-1, hints[i+1], theme.Muted) + 1
	}
}

func lessonRows(l LessonLook, w int) []overlay.Row {
	var rows []overlay.Row
	text := func(s string, st grid.Style) {
		for _, line := range grid.Lines(s, w) {
			rows = append(rows, markup(line, st))
		}
	}
	text(l.Text, theme.Text)
	if len(l.Choices) > 0 {
		rows = append(rows, nil)
		for i, c := range l.Choices {
			mark, st := "○", theme.Text
			if c.Chosen {
				mark, st = "●", theme.Accent
			}
			if l.Answered && c.Right {
				mark, st = "✓", theme.Good
			} else if l.Answered && c.Chosen {
				mark, st = "✗", theme.Bad
			}
			for n, line := range grid.Lines(c.Text, w-5) {
				head := "     "
				if n == 0 {
					head = fmt.Sprintf("%d %s  ", i+1, mark)
				}
				rows = append(rows, append(overlay.Row{{Text: head, Style: st}}, markup(line, st)...))
			}
		}
	}
	if l.Verdict != "" {
		rows = append(rows, nil)
		text(l.Verdict, theme.Number)
	}
	if len(l.Goals) > 0 {
		rows = append(rows, nil)
	}
	for _, g := range l.Goals {
		mark, st := "□", theme.Warn
		if g.Met {
			mark, st = "■", theme.Good
		}
		for n, line := range grid.Lines(g.Say, w-3) {
			head := "   "
			if n == 0 {
				head = mark + "  "
			}
			rows = append(rows, append(overlay.Row{{Text: head, Style: st}}, markup(line, theme.Text)...))
		}
	}
	if l.Hint != "" {
		rows = append(rows, nil)
		text(fmt.Sprintf("Hint %d of %d: %s", l.HintNo, l.HintsOf, l.Hint), theme.Warn)
	}
	if l.Finished {
		rows = append(rows, nil)
		text("✓ Done. Go on trying things, or leave with ctrl+x.", theme.Good)
	}
	return rows
}

// markup turns `code` and **bold** of one line into spans.
func markup(line string, st grid.Style) overlay.Row {
	var row overlay.Row
	for line != "" {
		i := strings.IndexAny(line, "`*")
		if i < 0 {
			break
		}
		mark := line[i : i+1]
		style := theme.Name | grid.Bold
		if mark == "*" {
			if !strings.HasPrefix(line[i:], "**") {
				row = append(row, grid.Span{Text: line[:i+1], Style: st})
				line = line[i+1:]
				continue
			}
			mark, style = "**", st|grid.Bold
		}
		end := strings.Index(line[i+len(mark):], mark)
		if end < 0 {
			break
		}
		row = append(row, grid.Span{Text: line[:i], Style: st},
			grid.Span{Text: line[i+len(mark) : i+len(mark)+end], Style: style})
		line = line[i+2*len(mark)+end:]
	}
	return append(row, grid.Span{Text: line, Style: st})
}
