package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kviz/tui/grid"
	"kviz/tui/keymap"
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
		it := overlay.Item{
			Label: "○ " + l.Title, Note: l.Teaches, Indent: 2, Off: l.Locked, Value: beginLesson(l.ID), Key: fmt.Sprintf("%d min", l.Minutes),
			Detail: "Teaches: " + l.Teaches,
		}
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

// The keys of the lesson pane; an action is what the lesson is told to do.
// Those with a rank stand in its last line.
var (
	lessonKeys = []keymap.Binding{
		lessonBind(1, "next", "ctrl+n"), lessonBind(2, "hint", "ctrl+t", "ctrl+h"), lessonBind(3, "back", "ctrl+b"),
		lessonBind(4, "leave", "ctrl+x"), lessonBind(0, "restart", "ctrl+r"),
	}
	answerKeys = []keymap.Binding{
		lessonBind(1, "answer 1", "alt+1"), lessonBind(0, "answer 2", "alt+2"), lessonBind(0, "answer 3", "alt+3"),
		lessonBind(0, "answer 4", "alt+4"), lessonBind(0, "answer 5", "alt+5"), lessonBind(0, "answer 6", "alt+6"),
		lessonBind(0, "answer 7", "alt+7"), lessonBind(0, "answer 8", "alt+8"), lessonBind(0, "answer 9", "alt+9"),
	}
)

func lessonBind(rank int, action string, keys ...string) keymap.Binding {
	words, _, _ := strings.Cut(action, " ")
	b := keymap.Bind(action, words, "", keys...)
	b.Rank = rank
	return b
}

// lessonKey answers the keys of the lesson pane.
func (m *Explorer) lessonKey(k tea.KeyPressMsg) (tea.Cmd, bool) {
	action := keymap.Action(k, lessonKeys)
	if action == "" {
		action = keymap.Action(k, answerKeys)
	}
	if action == "" {
		return nil, false
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
	hints := lessonKeys
	if len(l.Choices) > 0 && !l.Answered {
		hints = slices.Concat(answerKeys, lessonKeys)
	}
	x := 1
	for _, b := range hints {
		if b.Rank == 0 {
			continue
		}
		st := theme.Key
		if b.Action == "next" && !l.CanNext {
			st = theme.Muted
		}
		x = in.Text(x, in.H()-1, b.Help().Key, st)
		x = in.Text(x+1, in.H()-1, b.Words(), theme.Muted) + 1
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
