package lesson

import (
	"fmt"
	"slices"
	"strings"

	"kviz/lessons"
	"kviz/tui/grid"
	"kviz/tui/markup"
	"kviz/tui/overlay"
	"kviz/tui/theme"
)

// footRows are what has to be done and what came of it, in no more than so many
// rows: the goals that are met make room first.
func footRows(l lessons.Look, w, most int) []overlay.Row {
	var head, goals []overlay.Row
	add := func(into *[]overlay.Row, s string, st grid.Style) {
		for _, line := range markup.Lines(s, w) {
			*into = append(*into, markup.Line(line, st))
		}
	}
	if l.CanNext && len(l.Goals) > 0 && !slices.ContainsFunc(l.Goals, func(g lessons.GoalLook) bool { return !g.Met }) {
		add(&head, "■ All of it is done: ^n goes on.", theme.Good)
	}
	if l.Verdict != "" {
		add(&head, l.Verdict, theme.Number)
	}
	if l.Hint != "" {
		add(&head, fmt.Sprintf("Hint %d of %d: %s", l.HintNo, l.HintsOf, l.Hint), theme.Warn)
	}
	if l.Finished {
		add(&head, "✓ Done. Go on trying things, or leave with ctrl+x.", theme.Good)
	}
	open, found := 0, false // rows of goals before the first that is open
	for _, g := range l.Goals {
		mark, st := "□", theme.Warn
		if g.Met {
			mark, st = "■", theme.Good
		}
		for n, line := range grid.Lines(g.Say, w-3) {
			first := "   "
			if n == 0 {
				first = mark + "  "
			}
			goals = append(goals, append(overlay.Row{{Text: first, Style: st}}, markup.Line(line, theme.Text)...))
		}
		if found = found || !g.Met; !found {
			open = len(goals)
		}
	}
	if open < len(goals) { // what is open keeps its place
		head = head[:min(len(head), max(most-(len(goals)-open), most/2))]
	}
	if len(head) >= most {
		return head[:most]
	}
	room := most - len(head)
	if from := min(open, max(len(goals)-room, 0)); len(goals) > room {
		goals = goals[from:min(from+room, len(goals))]
	}
	return append(head, goals...)
}

func textRows(l lessons.Look, w int) []overlay.Row {
	var rows []overlay.Row
	for _, para := range strings.Split(l.Text, "\n") {
		for _, line := range markup.Lines(para, w) {
			rows = append(rows, markup.Line(line, theme.Text))
		}
	}
	if len(l.Choices) > 0 {
		rows = append(append(rows, nil), questionRows(l, w)...)
	}
	return rows
}

// questionRows are the answers that one can choose, and what was chosen.
func questionRows(l lessons.Look, w int) []overlay.Row {
	var rows []overlay.Row
	put := func(head, text, event string, st grid.Style) {
		if event != "" {
			text += "  `" + event + "`"
		}
		for n, line := range markup.Lines(text, w-grid.Width(head)) {
			if n > 0 {
				head = strings.Repeat(" ", grid.Width(head))
			}
			rows = append(rows, append(overlay.Row{{Text: head, Style: st}}, markup.Line(line, st)...))
		}
	}
	known := slices.ContainsFunc(l.Choices, func(c lessons.ChoiceLook) bool { return c.Right })
	for _, it := range l.Items {
		mark, st, label := " ", theme.Text, "…"
		switch {
		case it.Right:
			mark, st = "✓", theme.Good
		case l.Answered:
			mark, st = "✗", theme.Bad
		case it.Next:
			mark, st, label = "▸", theme.Accent, "?"
		}
		if it.Label != "" {
			label = it.Label
		}
		put(mark+" ", fmt.Sprintf("**%s** → %s", it.Text, label), it.Event, st)
	}
	if len(l.Items) > 0 {
		if l.Answered {
			return rows
		}
		rows = append(rows, nil)
	}
	for i, c := range l.Choices {
		mark, st := "○", theme.Text
		switch {
		case l.Form == "order" && c.Right:
			put(fmt.Sprintf("✓ %d. ", c.Place), c.Text, c.Event, theme.Good)
			continue
		case l.Form == "order" && c.Place > 0:
			mark, st = fmt.Sprintf("[%d]", c.Place), theme.Accent
		case l.Form == "order":
			mark = "[ ]"
		case known && c.Right:
			mark, st = "✓", theme.Good
		case known && c.Chosen:
			mark, st = "✗", theme.Bad
		case c.Chosen:
			mark, st = "●", theme.Accent
		}
		put(fmt.Sprintf("%d %s  ", i+1, mark), c.Text, "", st)
	}
	return rows
}
