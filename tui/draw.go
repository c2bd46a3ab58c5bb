package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/layout"
	"kviz/tui/pane/clustermap"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// View implements [tea.Model]. While nothing changed it gives the same string,
// which the renderer takes as "nothing to do".
func (m *Explorer) View() tea.View {
	if m.w == 0 || !m.dirty {
		return m.shown
	}
	m.dirty = false
	m.frames++
	m.shown = tea.View{Content: m.draw(), AltScreen: true, MouseMode: tea.MouseModeCellMotion, WindowTitle: m.title(), Cursor: m.cursorAt}
	return m.shown
}

func (m *Explorer) title() string {
	if m.cfg.Recording != "" {
		return "kviz " + m.cfg.Recording
	}
	return "kviz"
}

// draw draws what changed into the grid and gives the whole screen.
func (m *Explorer) draw() string {
	lay := layout.Compute(layout.In{
		W: m.w, H: m.h, Preset: m.preset, Focus: m.focus, Zoom: m.zoom,
		Lesson: m.lessonOpen && m.lessonLook.Active, Reading: m.reading, Order: m.order, Console: m.consoleOpen,
	})
	if m.all || !same(lay, m.lay) {
		m.grid.Area().Clear()
		m.hinted = ""
		for _, h := range m.panes {
			h.Dirty()
		}
		m.all = false
	}
	m.lay, m.cursorAt = lay, nil
	if lay.TooSmall != "" {
		m.grid.Area().Clear()
		m.grid.Area().Wrap(0, 0, m.w, m.h, lay.TooSmall+". Make it larger, or use kviz explore --plain.", theme.Warn)
		return m.grid.Render(m.theme.SGR)
	}
	for _, s := range lay.Slots {
		m.panes[s.Pane-1].Draw(m.grid, s.Rect, m.frame(s.Pane))
	}
	if x, y, ok := m.host().Cursor(); ok && m.paneFocused(m.focus) && m.visible(m.focus) {
		m.cursorAt = cursor(x, y)
	}
	m.drawStatus(m.grid.Window(lay.Status))
	m.drawTabs(m.grid.Window(lay.Tabs))
	if !lay.Lesson.Empty() {
		m.drawLesson(m.grid.Window(lay.Lesson))
	}
	if !lay.Console.Empty() {
		a := m.grid.Window(lay.Console)
		a.Clear()
		x, y := m.console.Draw(a, m.consoleKeys && len(m.open) == 0, m.clock.Paused && m.live)
		if m.consoleKeys {
			m.cursorAt = cursor(x, y)
		}
	}
	m.drawExplain(m.grid.Window(lay.Explain))
	t := m.grid.Window(lay.Timeline)
	t.Clear()
	m.index.Draw(t, m.hist.Stream(), m.where())
	m.drawKeys(m.grid.Window(lay.Keys))
	if len(m.open) == 0 {
		return m.grid.Render(m.theme.SGR)
	}
	m.grid.Copy(m.over)
	m.over.Window(lay.Body).Dim(theme.Shadow)
	if p, ok := m.open[len(m.open)-1].Draw(m.over.Window(lay.Body)); ok {
		m.cursorAt = cursor(p.X, p.Y)
	}
	return m.over.Render(m.theme.SGR)
}

func cursor(x, y int) *tea.Cursor {
	c := tea.NewCursor(x, y)
	c.Blink = false
	return c
}

// same reports whether two layouts put everything at the same place.
func same(a, b layout.Out) bool {
	if a.TooSmall != b.TooSmall || a.Body != b.Body || a.Tabs != b.Tabs || a.Lesson != b.Lesson || a.Console != b.Console || len(a.Slots) != len(b.Slots) {
		return false
	}
	for i := range a.Slots {
		if a.Slots[i] != b.Slots[i] {
			return false
		}
	}
	return true
}

// drawStatus draws the top line: what it is, when we are, how fast, how well.
func (m *Explorer) drawStatus(a grid.Area) {
	a.Clear()
	bar := grid.Fresh
	if m.theme.Name == "none" || m.theme.Name == "16" {
		bar = 0 // there it would be an underline
	}
	for x := 0; x < a.W(); x++ {
		a.Put(x, 0, ' ', theme.Text|bar)
	}
	put := func(x int, s string, st grid.Style) int { return a.Text(x, 0, s, st|bar) }
	x := put(1, "kviz", theme.Title|grid.Bold)
	name := m.clusterName()
	x = put(x+2, name, theme.Muted)
	if m.boot != "" {
		put(x+2, "◐ "+m.boot, theme.Busy)
		return
	}
	x = put(x+2, words.Clock(m.now()), theme.Text)
	x = put(x+2, m.speedWord(), theme.Number)
	x = put(x, m.behindWord(), theme.Warn)
	state, st := m.clockState()
	x = put(x+2, state, st)
	if !m.state.Last.IsZero() {
		x = put(x+2, "#"+m.state.Last.String(), theme.Event|grid.Bold)
	}
	if m.clock.Waiting > 0 {
		x = put(x+2, words.Count(m.clock.Waiting, "request")+" waiting", theme.Warn)
	}
	if faults := m.state.Faults(); len(faults) > 0 {
		text := ""
		for _, f := range faults {
			text += "  ! " + f.Fault.Fault + " " + f.Target
		}
		if grid.Width(text)+x > a.W()-28 {
			text = fmt.Sprintf("  ! %d broken", len(faults))
		}
		x = put(x, text, theme.Bad)
	}
	q := m.state.Store.Quorum()
	if meter := clustermap.Quorum(q); meter != "" {
		st := theme.Good
		if !q.OK() {
			st = theme.Bad | grid.Bold
		}
		if lead := m.state.Store.Leader; lead != "" && a.W()-x > grid.Width(meter)+16 {
			meter = "★ " + lead + "  " + meter
		}
		if a.W()-x > grid.Width(meter)+2 {
			a.Right(a.W()-1, 0, meter, st|bar)
		}
	}
}

func (m *Explorer) clusterName() string {
	if m.cfg.Recording != "" {
		return "recording " + m.cfg.Recording
	}
	r := m.state.Run
	if r.Seed == 0 && r.Members == 0 {
		return "cluster"
	}
	if m.w < 100 {
		return fmt.Sprintf("seed %d", r.Seed)
	}
	nodes := max(r.Nodes, len(m.state.Nodes())) // some may have joined
	members := r.Members
	if all, here := m.state.Store.Size(); all >= members { // else some are still to start
		members = here
	}
	return fmt.Sprintf("%s, %s · seed %d", words.Count(members, "member"), words.Count(nodes, "node"), r.Seed)
}

// clockState is the word for the clock.
func (m *Explorer) clockState() (string, grid.Style) {
	switch {
	case m.clock.Ended != nil:
		return "✗ ENDED " + m.clock.Ended.Error(), theme.Bad | grid.Bold
	case m.bootErr != nil:
		return "✗ " + m.bootErr.Error(), theme.Bad | grid.Bold
	case m.playing:
		return "▶ REPLAY", theme.Past | grid.Bold
	case !m.live:
		return "◀ PAST", theme.Past | grid.Bold
	case m.clock.Paused:
		why := ""
		if m.clock.Why != "" && m.w >= 110 {
			why = " (" + m.clock.Why + ")"
		}
		return "‖ PAUSED" + why, theme.Warn | grid.Bold
	}
	return "▶ RUNNING", theme.Good | grid.Bold
}

// drawTabs draws the names of all panes where not all are on the screen.
func (m *Explorer) drawTabs(a grid.Area) {
	if a.H() == 0 {
		return
	}
	a.Clear()
	x := 0
	for i, t := range m.tabs() {
		st, key := theme.Muted, theme.Key
		if m.visible(i + 1) {
			st = theme.Text
		}
		if i+1 == m.focus {
			st, key = theme.Title|grid.Selected, theme.Key|grid.Selected
		}
		a.Text(x, 0, t[:2], key)
		a.Text(x+2, 0, t[2:], st)
		x += len(t) + 1
	}
	if p := layout.Presets[m.preset].Name; x+len(p)+10 < a.W() {
		a.Right(a.W()-1, 0, "layout "+p, theme.Muted)
	}
}

func (m *Explorer) visible(n int) bool {
	for _, s := range m.lay.Slots {
		if s.Pane == n {
			return true
		}
	}
	return false
}

// tabs are the labels of the tabs: " 1map" with one column for the key.
func (m *Explorer) tabs() []string {
	var out []string
	long := 0
	for i, h := range m.panes {
		out = append(out, fmt.Sprintf(" %d", i+1)+h.Pane.Info().Name)
		long += len(out[i]) + 1
	}
	if long > m.lay.Tabs.W {
		for i, h := range m.panes {
			out[i] = fmt.Sprintf(" %d", i+1) + grid.Clean(h.Pane.Info().Name[:min(5, len(h.Pane.Info().Name))])
		}
	}
	return out
}

// tabAt is the pane whose tab is at column x.
func tabAt(tabs []string, x int) int {
	from := 0
	for i, t := range tabs {
		if x >= from && x <= from+len(t) {
			return i + 1
		}
		from += len(t) + 1
	}
	return 0
}

// drawExplain draws what is going on in plain words: a notice if there is one,
// else the event we are at and the thing under the cursor.
func (m *Explorer) drawExplain(a grid.Area) {
	a.Clear()
	on := m.host().Under()
	event := func(y int) {
		e := m.told()
		if e == nil {
			a.Text(1, y, "waiting for the first event", theme.Muted)
			return
		}
		x := a.Text(1, y, "#"+e.ID.String()+" ", theme.Event|grid.Bold)
		words := view.Explain(e)
		if !strings.HasPrefix(words, e.Lane.Component+" ") { // else it says itself who did it
			x = a.Text(x, y, e.Lane.String()+" ", theme.Name)
		}
		a.Fit(x, y, a.W()-x-1, words, theme.Text)
	}
	under := func(y int) { a.Fit(1, y, a.W()-2, "▸ "+on.Words, theme.Number) }
	switch {
	case m.notice != "" && a.H() == 1:
		a.Fit(1, 0, a.W()-2, m.notice, theme.Warn)
	case m.notice != "":
		event(0)
		a.Fit(1, 1, a.W()-2, m.notice, theme.Warn)
	case a.H() == 1 && m.pointed && on.Words != "":
		under(0)
	case a.H() == 1:
		event(0)
	default:
		event(0)
		if on.Words != "" {
			under(1)
		}
	}
}

// told is the event that the explanation line tells and "why?" asks about: the
// one we are at, or, where raft's messages would drown the rest (they go on by
// themselves unless they are what is being stepped), the one before them.
func (m *Explorer) told() *trace.Event {
	e := m.state.Event
	if e == nil || !e.Outside() || !m.live || m.clock.Paused && m.grain < trace.GrainStage {
		return e
	}
	if c := m.hist.Event(traceOf(e)); c != nil {
		return c
	}
	return e
}

// traceOf is the number of the control-plane event before an outside one.
func traceOf(e *trace.Event) trace.ID { return trace.ID{Seq: e.ID.Seq} }

// hints are what can be done now, most useful first.
func (m *Explorer) hints() []keymap.Binding {
	if n := len(m.open); n > 0 {
		return keymap.Hints(m.open[n-1].Keys()...)
	}
	if m.consoleKeys {
		return keymap.Hints(m.console.Keys()...)
	}
	var out []keymap.Binding
	for _, b := range m.keys.Ranked() {
		if !m.useful(b.Action) || b.Action == keymap.Help { // the way to help stands at the right
			continue
		}
		if len(out) == 6 {
			out = append(out, m.host().Pane.Info().Keys...)
		}
		b.SetHelp(b.Help().Key, m.wordsFor(b))
		out = append(out, b)
	}
	return out
}

// useful reports whether an action does something now.
func (m *Explorer) useful(action string) bool {
	switch action {
	case keymap.Now:
		return !m.live
	case keymap.StepOver, keymap.Until, keymap.Faults:
		return m.cfg.Recording == "" && (m.ctl != nil || action == keymap.StepOver)
	case keymap.Console:
		return m.cfg.Recording == ""
	case keymap.Lesson:
		return m.cfg.Lessons != nil
	}
	return true
}

// wordsFor are the words of a key where they depend on what is going on.
func (m *Explorer) wordsFor(b keymap.Binding) string {
	past := !m.live || m.cfg.Recording != ""
	switch b.Action {
	case keymap.Pause:
		switch {
		case past && m.playing:
			return "stop"
		case past:
			return "play"
		case m.clock.Paused:
			return "run"
		}
	case keymap.StepInto:
		return "step " + m.grain.String()
	}
	return b.Words()
}

// drawKeys draws the key line unless it stands there already.
func (m *Explorer) drawKeys(a grid.Area) {
	hints := m.hints()
	var says strings.Builder
	fmt.Fprint(&says, a.W(), len(m.open) == 0 && !m.consoleKeys)
	for _, b := range hints {
		says.WriteString("\x00" + b.Help().Key + "\x00" + b.Help().Desc)
	}
	if says.String() == m.hinted {
		return
	}
	m.hinted = says.String()
	a.Clear()
	x, end := 1, a.W()
	if len(m.open) == 0 && !m.consoleKeys { // the way to help is always there
		end -= 8
		a.Text(end+1, 0, "?", theme.Key)
		a.Text(end+3, 0, "help", theme.Muted)
		end--
	}
	a.Sub(x, 0, end-x, 1).Styled(keymap.Line(hints, end-x))
}

// hintWidth is how wide a hint is in the key line.
func hintWidth(b keymap.Binding) int { return grid.Width(b.Help().Key) + 1 + grid.Width(b.Help().Desc) }

// keyAt is the hint at a column of the key line.
func (m *Explorer) keyAt(col int) (keymap.Binding, bool) {
	x, end := 1, m.w
	if len(m.open) == 0 && !m.consoleKeys {
		if end -= 8; col >= end {
			return m.keys.Get(keymap.Help)
		}
		end--
	}
	for _, b := range m.hints() {
		w := hintWidth(b)
		if x+w > end { // it did not fit, nor does what follows
			break
		}
		if col >= x && col < x+w {
			return b, true
		}
		x += w + grid.Width(keymap.Gap)
	}
	return keymap.Binding{}, false
}
