package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/tui/keymap"
	"kviz/tui/layout"
	"kviz/tui/overlay"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// do does a global action.
func (m *Explorer) do(action string) tea.Cmd {
	if n, ok := strings.CutPrefix(action, "view.pane-"); ok {
		m.setFocus(int(n[0] - '0'))
		return nil
	}
	if strings.HasPrefix(action, "clock.") {
		return m.doClock(action)
	}
	if strings.HasPrefix(action, "time.") {
		m.doTime(action)
		return nil
	}
	if strings.HasPrefix(action, "move.") {
		return m.doMove(action)
	}
	switch action {
	case keymap.NextPane:
		m.nextFocus(1)
	case keymap.PrevPane:
		m.nextFocus(-1)
	case keymap.Zoom:
		m.zoom, m.all = !m.zoom, true
	case keymap.Layout, keymap.LayoutUp:
		by := 1
		if action == keymap.LayoutUp {
			by = -1
		}
		n := len(layout.Presets)
		m.setPreset(((m.preset+by)%n + n) % n)
	case keymap.ThemeKey:
		m.nextTheme()
	case keymap.Jump:
		m.push(m.jumpList())
	case keymap.Filter:
		m.prompt(promptFilter, "Filter "+m.host().Pane.Info().Title,
			"Show only what contains these words; ! before them turns it round; empty shows all.", m.filters[m.focus-1])
	case keymap.Palette:
		m.push(m.palette())
	case keymap.Why:
		m.why(m.whyID())
	case keymap.Help:
		m.push(m.help())
	case keymap.Glossary:
		m.push(m.glossary())
	case keymap.Console:
		m.consoleOpen, m.consoleKeys, m.all = true, true, true
		m.refocus()
	case keymap.Faults:
		m.faults()
	case keymap.Copy:
		return m.copy()
	case keymap.Lesson:
		m.toggleLesson()
	case keymap.Escape:
		m.escape()
	case keymap.Quit:
		return tea.Quit
	case keymap.Suspend:
		if m.cfg.Remote {
			m.say("only a terminal of this machine can be suspended")
			return nil
		}
		return tea.Suspend
	}
	return nil
}

func (m *Explorer) doMove(action string) tea.Cmd {
	f := m.frame(m.focus)
	if action == keymap.Open {
		on := m.host().Under()
		ask := m.host().Pane.Do(keymap.Open, on, &f)
		if ask == nil && on.Ref.Name != "" {
			ask = pane.Show{Ref: on.Ref}
		}
		m.host().Dirty()
		return m.grant(ask)
	}
	m.host().Move(action, &f)
	m.pointed = true
	return nil
}

// grant does what a pane asks for.
func (m *Explorer) grant(a pane.Ask) tea.Cmd {
	switch a := a.(type) {
	case pane.Goto:
		m.goToID(a.ID)
	case pane.Show:
		if f := m.frame(9); true {
			m.panes[8].Pane.Do("object.show", pane.Subject{ID: "show", Ref: a.Ref}, &f)
		}
		m.setFocus(9)
	case pane.Focus:
		if a.Do != "" {
			f := m.frame(a.Pane)
			m.panes[a.Pane-1].Pane.Do(a.Do, pane.Subject{}, &f)
			m.panes[a.Pane-1].Dirty()
		}
		m.setFocus(a.Pane)
	case pane.Exec:
		m.consoleOpen, m.all = true, true
		return m.run(a.Line)
	case pane.Why:
		m.why(a.ID)
	case pane.Notice:
		m.say(a.Text)
	case pane.Narrow:
		m.filters[m.focus-1] = a.To
		m.host().Dirty()
	}
	return nil
}

func (m *Explorer) doTime(action string) {
	switch action {
	case keymap.Back:
		m.walk(-1, m.grain)
	case keymap.Forward:
		m.walk(1, m.grain)
	case keymap.ScrubBack:
		m.scrub(-1)
	case keymap.ScrubOn:
		m.scrub(1)
	case keymap.MarkBack:
		m.toMark(-1)
	case keymap.MarkOn:
		m.toMark(1)
	case keymap.Start:
		m.goTo(m.hist.First())
	case keymap.Now:
		m.goTo(m.hist.Len())
	case keymap.GoTo:
		m.prompt(promptGoto, "Go to an event", "Its number, such as 214 or 214.3.", "")
	case keymap.SetMark:
		m.setMark()
	case keymap.ToMark:
		m.swapMark()
	}
}

// doClock does what concerns the clock. In the past the same keys go through
// what has happened already.
func (m *Explorer) doClock(action string) tea.Cmd {
	past := !m.live || m.cfg.Recording != ""
	switch action {
	case keymap.Pause:
		if past {
			m.play()
			return nil
		}
		if m.clock.Paused {
			return m.ask(func(c control.Cluster) error { return c.Resume() }, "")
		}
		return m.ask(func(c control.Cluster) error { return c.Pause() }, "")
	case keymap.StepInto:
		return m.step(m.grain)
	case keymap.StepOver:
		return m.step(trace.GrainDecision)
	case keymap.StepFar:
		return m.step(trace.GrainConverged)
	case keymap.GrainMenu:
		m.push(m.grains())
	case keymap.Until:
		m.prompt(promptUntil, "Run until", "A CEL expression over the state, such as  store.leader == \"b\"  or  nodes[\"node-1\"].ready", "")
	case keymap.Break:
		m.breakpoints()
	case keymap.Faster, keymap.Slower:
		by := 1
		if action == keymap.Slower {
			by = -1
		}
		if past {
			m.playRate = nextSpeed(m.playRate, by)
			return nil
		}
		x := nextSpeed(m.clock.Speed, by)
		return m.ask(func(c control.Cluster) error { return c.Speed(x) }, "speed "+words.Speed(x))
	case keymap.SkipIdle:
		return m.ask(func(c control.Cluster) error { return c.SkipIdle() }, "")
	}
	return nil
}

func (m *Explorer) step(g trace.Grain) tea.Cmd {
	if !m.live || m.cfg.Recording != "" {
		m.walk(1, g)
		return nil
	}
	return m.ask(func(c control.Cluster) error { return c.Step(g) }, "")
}

// ask calls the cluster; what it answers becomes a notice.
func (m *Explorer) ask(f func(control.Cluster) error, done string) tea.Cmd {
	if m.ctl == nil {
		m.say("the cluster is still starting")
		return nil
	}
	if err := f(m.ctl); err != nil {
		m.say(err.Error())
		return nil
	}
	if done != "" {
		m.say(done)
	}
	m.stepWaits = 6
	m.pull()
	return m.tick()
}

func (m *Explorer) setPreset(n int) {
	m.preset, m.zoom, m.all, m.order = n, false, true, nil
	p := layout.Presets[n]
	if !contains(p.Order[:min(4, len(p.Order))], m.focus) {
		m.focus = p.Order[0]
	}
	m.say("layout: " + p.Name + ": " + p.Means)
	m.refocus()
}

func contains(list []int, x int) bool {
	for _, y := range list {
		if x == y {
			return true
		}
	}
	return false
}

func (m *Explorer) nextTheme() {
	names := theme.Names()
	for i, n := range names {
		if n == m.theme.Name {
			m.setTheme(names[(i+1)%len(names)])
			break
		}
	}
	m.themed = true
	m.say("theme: " + m.theme.Name)
}

// escape takes back one thing: the filter, the zoom, the console, the past.
func (m *Explorer) escape() {
	switch {
	case m.filters[m.focus-1] != "":
		m.filters[m.focus-1] = ""
	case m.zoom:
		m.zoom, m.all = false, true
	case m.consoleOpen:
		m.consoleOpen, m.all = false, true
	case !m.live && m.cfg.Recording == "":
		m.goTo(m.hist.Len())
	}
}

// whyID is the event that "why?" asks about: that of the thing under the
// cursor if the cursor was moved, else the one we are at.
func (m *Explorer) whyID() trace.ID {
	if on := m.host().Under(); m.pointed && !on.Event.IsZero() {
		return on.Event
	}
	if e := m.told(); e != nil {
		return e.ID
	}
	return m.state.Last
}

func (m *Explorer) copy() tea.Cmd {
	on := m.host().Under()
	text := on.Copy
	if text == "" {
		text = on.Ref.Key()
	}
	if text == "" {
		text = on.Words
	}
	if text == "" {
		m.say("nothing under the cursor to copy")
		return nil
	}
	const limit = 74994 // what terminals take in one OSC 52 sequence
	if len(text) > limit {
		text = text[:limit]
	}
	m.say(fmt.Sprintf("copied %s", words.Bytes(len(text))))
	return tea.SetClipboard(text)
}

// promptTag says what a prompt's text is for.
type promptTag string

const (
	promptFilter promptTag = "filter"
	promptGoto   promptTag = "goto"
	promptUntil  promptTag = "until"
	promptBreak  promptTag = "break"

	promptRecording promptTag = "recording"
)

func (m *Explorer) prompt(tag promptTag, title, intro, text string) {
	p := m.prompts[tag]
	if p == nil {
		p = &overlay.Prompt{Tag: tag}
		m.prompts[tag] = p
	}
	p.Title, p.Intro, p.Error = title, intro, ""
	p.Line.Set(text)
	m.push(p)
}
