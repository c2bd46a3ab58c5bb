package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/layout"
	"kviz/tui/overlay"
	"kviz/tui/theme"
)

// toggleLesson goes on from the large lesson to the small one, to none, and
// back; where the lesson stands beside the panes it has one size.
func (m *Explorer) toggleLesson() {
	if m.cfg.Lessons == nil {
		m.say("there are no lessons here")
		return
	}
	m.all = true
	switch {
	case !m.lessonLook.Active:
		m.push(m.lessons())
	case m.lessonOpen && m.reading:
		m.reading = false
	case m.lessonOpen:
		m.lessonOpen = false
	default:
		m.lessonOpen, m.reading = true, layout.Narrow(m.w)
	}
}

// lookAtLesson asks how the lesson stands: a goal that is met is told, a new
// step brings its panes.
func (m *Explorer) lookAtLesson() {
	old := m.lessonLook
	m.lessonLook = m.cfg.Lessons.Look(m.state)
	now := m.lessonLook
	if old.Active && now.Active && old.Step == now.Step && len(old.Goals) == len(now.Goals) {
		for i, g := range now.Goals {
			if g.Met && !old.Goals[i].Met {
				m.say("✓ " + g.Say)
			}
		}
	}
	if !now.Active {
		m.order = nil
		return
	}
	if !slices.Equal(old.View, now.View) || !old.Active {
		m.showPanes(now.View)
	}
}

// showPanes puts the panes that a lesson names onto the screen.
func (m *Explorer) showPanes(names []string) {
	m.order = nil
	for _, name := range names {
		for i, h := range m.panes {
			if h.Pane.Info().Name == name {
				m.order = append(m.order, i+1)
			}
		}
	}
	if len(m.order) > 0 {
		reading := m.reading
		m.zoom = false
		keys := m.consoleKeys
		m.setFocus(m.order[0])
		m.reading, m.consoleKeys = reading, keys
	}
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
	if m.ctl == nil && m.boot != "" { // its scene is set by commands
		m.lessonNext, m.open = id, nil
		m.say("the lesson begins as soon as the cluster is up")
		return
	}
	if err := m.cfg.Lessons.Start(id); err != nil {
		m.say(err.Error())
		return
	}
	m.open = nil // the start screen, if it was opened from there
	m.lessonOpen, m.all, m.dirty = true, true, true
	m.reading = layout.Narrow(m.w)
	m.lessonText.Top()
	m.lookAtLesson()
}

// The keys of the lesson pane; an action is what the lesson is told to do, or
// begins with "text." for what concerns the text alone. Those with a rank
// stand in its last line.
var (
	lessonKeys = []keymap.Binding{
		lessonBind(1, "next", "ctrl+n"), lessonBind(2, "hint", "ctrl+t", "ctrl+h"), lessonBind(4, "back", "ctrl+b"),
		lessonBind(5, "leave", "ctrl+x"), lessonBind(0, "restart", "ctrl+r"),
	}
	textKeys = []keymap.Binding{
		keymap.Bind("text.down", "scroll", "", "ctrl+d", "alt+down"), keymap.Bind("text.up", "scroll up", "", "ctrl+u", "alt+up"),
		keymap.Bind("text.notes", "notes", "", "alt+n"),
	}
	// readKeys work while the lesson has the panes' place.
	readKeys = []keymap.Binding{
		keymap.Bind("text.line-down", "scroll", "", "down", "j"), keymap.Bind("text.line-up", "scroll", "", "up", "k"),
		keymap.Bind("text.down", "scroll", "", "pgdown"), keymap.Bind("text.up", "scroll", "", "pgup"),
		lessonBind(0, "next", "enter"),
	}
	answerKeys = []keymap.Binding{
		lessonBind(1, "answer 1", "alt+1"), lessonBind(0, "answer 2", "alt+2"), lessonBind(0, "answer 3", "alt+3"),
		lessonBind(0, "answer 4", "alt+4"), lessonBind(0, "answer 5", "alt+5"), lessonBind(0, "answer 6", "alt+6"),
		lessonBind(0, "answer 7", "alt+7"), lessonBind(0, "answer 8", "alt+8"), lessonBind(0, "answer 9", "alt+9"),
	}
	// undoKeys take back the last part of an answer that has several.
	undoKeys = []keymap.Binding{lessonBind(1, "undo", "alt+backspace", "alt+0")}
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
		action = keymap.Action(k, textKeys)
	}
	if action == "" && m.asks() {
		if action = keymap.Action(k, answerKeys); action == "" && m.asksParts() {
			if action = keymap.Action(k, undoKeys); m.largeLesson() && (k.Code == tea.KeyBackspace || k.Text == "0") {
				action = "undo"
			}
		}
	}
	if action == "" && m.largeLesson() {
		if action = keymap.Action(k, readKeys); action == "" && m.asks() && len(k.Text) == 1 && k.Text >= "1" && k.Text <= "9" {
			action = "answer " + k.Text
		}
	}
	if action == "" {
		return nil, false
	}
	return m.doLesson(action), true
}

// answers reports whether a key answers the step's question wherever it is
// pressed, in the console too, where alt+backspace deletes a word.
func (m *Explorer) answers(k tea.KeyPressMsg) bool {
	return m.asks() && keymap.Action(k, answerKeys) != "" || m.asksParts() && k.String() == "alt+0"
}

// asks reports whether the step asks something that can be answered.
func (m *Explorer) asks() bool { return len(m.lessonLook.Choices) > 0 && !m.lessonLook.Answered }

// asksParts reports whether the answer has several parts: an order, or labels.
func (m *Explorer) asksParts() bool {
	return m.asks() && (m.lessonLook.Form == "order" || m.lessonLook.Form == "match")
}

func (m *Explorer) largeLesson() bool { return m.lessonOpen && m.reading && layout.Narrow(m.w) }

// doLesson does an action of the lesson.
func (m *Explorer) doLesson(action string) tea.Cmd {
	m.dirty = true
	page := max(m.lay.Lesson.H/2, 3)
	switch action {
	case "text.down":
		m.lessonText.By(page)
		return nil
	case "text.up":
		m.lessonText.By(-page)
		return nil
	case "text.line-down":
		m.lessonText.By(1)
		return nil
	case "text.line-up":
		m.lessonText.By(-1)
		return nil
	case "text.notes":
		m.notes = !m.notes
		return nil
	}
	if err := m.cfg.Lessons.Do(action); err != nil {
		m.say(err.Error())
		return nil
	}
	step := m.lessonLook.Step
	m.lookAtLesson()
	if m.lessonLook.Step != step {
		m.lessonText.Top()
		m.reading, m.all = layout.Narrow(m.w), true
	}
	if action == "leave" {
		m.lessonOpen, m.all = false, true
	}
	return m.tick()
}

// drawLesson draws the lesson's step: its text, and below it what has to be
// done, which is always in sight.
func (m *Explorer) drawLesson(a grid.Area) {
	l := m.lessonLook
	a.Clear()
	kinds := map[string]string{"see": "look", "predict": "predict", "do": "do", "break": "break it", "free": "your turn"}
	title := []grid.Span{{Text: l.Title, Style: theme.Title}}
	if l.Steps > 0 {
		title = append([]grid.Span{{Text: fmt.Sprintf("%d/%d %s · ", l.Step, l.Steps, kinds[l.Kind]), Style: theme.Key}}, title...)
	}
	in := a.Frame(title, theme.Accent)
	w := in.W() - 2
	rows := lessonRows(l, w)
	if m.notes && l.Notes != "" {
		rows = append(rows, nil)
		for _, line := range grid.Lines("Notes: "+l.Notes, w) {
			rows = append(rows, markup(line, theme.Muted))
		}
	}
	foot := footRows(l, w, max((in.H()-1)/2, 1))
	room := in.H() - 1
	if len(foot) > 0 {
		room -= len(foot) + 1
		in.HLine(0, max(room, 0), in.W(), theme.Line)
		for i, row := range foot {
			x := 1
			for _, span := range row {
				x = in.Text(x, room+1+i, span.Text, span.Style)
			}
		}
	}
	m.lessonText.Draw(in.Rows(0, max(room, 0)), rows)
	m.drawLessonKeys(in)
}

// drawLessonKeys draws the lesson's last line: what can be pressed.
func (m *Explorer) drawLessonKeys(in grid.Area) {
	hints := lessonKeys
	if m.asksParts() {
		hints = slices.Concat(answerKeys, undoKeys, lessonKeys)
	} else if m.asks() {
		hints = slices.Concat(answerKeys, lessonKeys)
	}
	x, y := 1, in.H()-1
	plain := m.largeLesson() && !m.consoleKeys // letters and digits are the lesson's
	put := func(label, words string, st grid.Style) {
		if x+grid.Width(label)+grid.Width(words)+1 >= in.W() {
			return
		}
		x = in.Text(x, y, label, st)
		x = in.Text(x+1, y, words, theme.Muted) + 2
	}
	for _, b := range hints {
		if b.Rank == 0 {
			continue
		}
		st, label := theme.Key|grid.Bold, b.Help().Key
		if b.Action == "next" && !m.lessonLook.CanNext {
			st = theme.Muted
		}
		if b.Action == "answer 1" {
			label = fmt.Sprintf("alt+1…%d", len(m.lessonLook.Choices))
			if plain {
				label = fmt.Sprintf("1…%d", len(m.lessonLook.Choices))
			}
		}
		if b.Action == "undo" {
			if label = "alt+0"; plain {
				label = "0"
			}
		}
		put(label, b.Words(), st)
		if b.Action == "next" && plain {
			put("L", "panes", theme.Key|grid.Bold)
		}
	}
	put("^d", "scroll", theme.Key)
}

// footRows are what has to be done and what came of it, in no more than so many
// rows: the goals that are met make room first.
func footRows(l LessonLook, w, most int) []overlay.Row {
	var head, goals []overlay.Row
	add := func(into *[]overlay.Row, s string, st grid.Style) {
		for _, line := range lines(s, w) {
			*into = append(*into, markup(line, st))
		}
	}
	if l.CanNext && len(l.Goals) > 0 && !slices.ContainsFunc(l.Goals, func(g LessonGoal) bool { return !g.Met }) {
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
			goals = append(goals, append(overlay.Row{{Text: first, Style: st}}, markup(line, theme.Text)...))
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

func lessonRows(l LessonLook, w int) []overlay.Row {
	var rows []overlay.Row
	for _, para := range strings.Split(l.Text, "\n") {
		head := "" // what a list's item goes on below
		if item, ok := strings.CutPrefix(para, "- "); ok {
			head, para = "- ", item
		}
		for n, line := range lines(para, w-grid.Width(head)) {
			if n > 0 {
				head = strings.Repeat(" ", grid.Width(head))
			}
			rows = append(rows, append(overlay.Row{{Text: head, Style: theme.Text}}, markup(line, theme.Text)...))
		}
	}
	if len(l.Choices) > 0 {
		rows = append(append(rows, nil), questionRows(l, w)...)
	}
	return rows
}

// questionRows are the answers that one can choose, and what was chosen.
func questionRows(l LessonLook, w int) []overlay.Row {
	var rows []overlay.Row
	put := func(head, text, event string, st grid.Style) {
		if event != "" {
			text += "  `" + event + "`"
		}
		for n, line := range lines(text, w-grid.Width(head)) {
			if n > 0 {
				head = strings.Repeat(" ", grid.Width(head))
			}
			rows = append(rows, append(overlay.Row{{Text: head, Style: st}}, markup(line, st)...))
		}
	}
	known := slices.ContainsFunc(l.Choices, func(c LessonChoice) bool { return c.Right })
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

// lines breaks marked-up text into lines of w columns as they are seen.
func lines(s string, w int) []string { return carried(grid.LinesBy(s, w, seen)) }

// seen is how wide a text is without the marks of [markup].
func seen(s string) int { return grid.Width(marks.Replace(s)) }

var marks = strings.NewReplacer("**", "", "`", "")

// carried closes **bold** and `code` at the end of a line and opens them again
// on the next, where breaking the text has cut them.
func carried(lines []string) []string {
	open := ""
	for i, line := range lines {
		line = open + line
		if line == open { // the end of a paragraph ends them too
			lines[i], open = "", ""
			continue
		}
		open = ""
		for _, mark := range []string{"**", "`"} {
			if strings.Count(line, mark)%2 == 1 {
				line += mark
				open += mark
			}
		}
		lines[i] = line
	}
	return lines
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
