package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"kviz/cluster/control"
	"kviz/tui/keymap"
	"kviz/tui/layout"
	"kviz/tui/overlay"
	"kviz/tui/theme"
	"kviz/tui/timeline"
)

// Update implements [tea.Model].
func (m *Explorer) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.resize(msg.Width, msg.Height)
	case tea.BackgroundColorMsg:
		if !m.themed {
			if msg.IsDark() {
				m.setTheme("dark")
			} else {
				m.setTheme("light")
			}
		}
	case tea.ColorProfileMsg:
		m.profile(msg.Profile)
	case tickMsg:
		m.ticking = false
		cmd = m.look()
	case wakeMsg:
		m.watching = false
		cmd = tea.Batch(m.tick(), m.watch())
	case bootSay:
		m.boot, m.dirty = string(msg), true
	case bootDone:
		m.booted(msg)
		cmd = m.tick()
	case saidMsg:
		if msg.text != "" {
			m.say(msg.text)
		}
		m.stepWaits = 3
		cmd = m.tick()
	case tea.KeyPressMsg:
		cmd = tea.Batch(m.key(msg), m.tick())
	case tea.PasteMsg:
		m.paste(msg.Content)
	case tea.MouseClickMsg:
		cmd = tea.Batch(m.click(msg.Mouse()), m.tick())
	case tea.MouseMotionMsg:
		if m.dragging && msg.Button == tea.MouseLeft {
			m.dragTo(msg.X)
			cmd = m.tick()
		}
	case tea.MouseReleaseMsg:
		m.dragging = false
	case tea.MouseWheelMsg:
		m.wheel(msg.Mouse())
	case lendMsg:
		cmd = tea.Exec(aside(msg.run), func(err error) tea.Msg {
			msg.done <- err
			return lentMsg{}
		})
	case tea.ResumeMsg, lentMsg:
		m.all, m.dirty = true, true
		cmd = m.tick()
	}
	return m, cmd
}

// look is one look at the trace.
func (m *Explorer) look() tea.Cmd {
	if m.stepWaits > 0 {
		m.stepWaits--
	}
	if m.pull() {
		m.dirty = true
	}
	if m.busy() {
		return m.tick()
	}
	return nil
}

func (m *Explorer) resize(w, h int) {
	if w <= 0 || h <= 0 {
		w, h = 80, 24
	}
	m.w, m.h = w, h
	m.grid.Resize(w, h)
	m.all, m.dirty = true, true
}

func (m *Explorer) setTheme(name string) {
	m.theme = theme.Named(name)
	m.all, m.dirty = true, true
}

// profile follows what the terminal can do, as far as nobody chose.
func (m *Explorer) profile(p colorprofile.Profile) {
	if m.themed {
		return
	}
	switch {
	case p <= colorprofile.ASCII:
		m.setTheme("none")
		m.themed = true
	case p == colorprofile.ANSI:
		m.setTheme("16")
		m.themed = true
	}
}

func (m *Explorer) booted(b bootDone) {
	m.boot, m.dirty = "", true
	m.ctl, m.bootErr = b.cluster, b.err
	if b.err != nil {
		m.boot = "the cluster could not start: " + b.err.Error()
		return
	}
	m.pull()
	if id := m.lessonNext; id != "" {
		m.lessonNext, m.notice = "", ""
		m.startLesson(id)
	}
}

// say puts a sentence into the explanation line until the next key.
func (m *Explorer) say(text string) {
	m.notice, m.dirty = text, true
}

func (m *Explorer) paste(text string) {
	m.dirty = true
	switch {
	case len(m.open) > 0:
		m.open[len(m.open)-1].Paste(text)
	case m.consoleKeys:
		m.console.Paste(text)
	}
}

// key answers a key press: the open overlay first, then the console, then the
// focused pane's own keys, then those that work everywhere.
func (m *Explorer) key(k tea.KeyPressMsg) tea.Cmd {
	m.dirty = true
	name := k.String()
	inConsole := m.consoleKeys && len(m.open) == 0 && m.console.Running() != "" // where it is the command that goes behind
	if name == "ctrl+z" && !m.cfg.Remote && !inConsole {
		return tea.Suspend
	}
	if n := len(m.open); n > 0 {
		return m.react(m.open[n-1], m.open[n-1].Key(k))
	}
	if m.consoleKeys {
		return m.consoleKey(k)
	}
	m.notice = ""
	if m.largeLesson() && m.lessonLook.Active {
		if cmd, used := m.lessonKey(k); used {
			return cmd
		}
	}
	if action := keymap.Action(k, m.host().Pane.Info().Keys); action != "" && m.visible(m.focus) {
		f := m.frame(m.focus)
		m.host().Dirty()
		return m.grant(m.host().Pane.Do(action, m.host().Under(), &f))
	}
	if m.lessonLook.Active && (m.lessonOpen || m.cfg.Lessons != nil && keymap.Action(k, lessonKeys) != "") {
		if cmd, used := m.lessonKey(k); used {
			return cmd
		}
	}
	return m.do(m.keys.Action(k))
}

// react does what an overlay's reaction asks for.
func (m *Explorer) react(o overlay.Overlay, r overlay.Reaction) tea.Cmd {
	if r.Close {
		m.pop()
	}
	if r.Copy != "" {
		m.say("copied")
		return tea.SetClipboard(r.Copy)
	}
	if r.Chosen == nil {
		return nil
	}
	m.notice = ""
	return m.chosen(r.Chosen, r.Text)
}

func (m *Explorer) consoleKey(k tea.KeyPressMsg) tea.Cmd {
	if m.lessonLook.Active && (slices.Contains([]string{"ctrl+n", "ctrl+t", "ctrl+x"}, k.String()) || m.answers(k)) { // what a lesson needs between two commands
		cmd, _ := m.lessonKey(k)
		return cmd
	}
	e := m.console.Key(k, m.complete)
	if e.Close {
		m.consoleKeys = false
		m.refocus()
		return nil
	}
	if e.Line != "" {
		return m.run(e.Line)
	}
	return nil
}

// run runs a console line.
func (m *Explorer) run(line string) tea.Cmd {
	switch line {
	case "exit", "quit":
		m.consoleOpen, m.consoleKeys, m.all = false, false, true
		return nil
	}
	m.goLive()
	var lend control.Lend
	if m.cfg.Lend != nil && m.send != nil {
		lend = m.lend
	}
	m.console.Run(m.ctx, m.safe, m.ctl, line, max(m.w-4, 20), lend)
	return m.tick()
}

// goLive leaves the past: what is done is done now.
func (m *Explorer) goLive() {
	if !m.live && m.cfg.Recording == "" {
		m.live, m.playing = true, false
		m.pull()
	}
}

func (m *Explorer) refocus() {
	for _, h := range m.panes {
		h.Dirty()
	}
	m.dirty = true
}

func (m *Explorer) click(e tea.Mouse) tea.Cmd {
	m.dirty, m.dragging = true, false
	if m.lay.Keys.Has(e.X, e.Y) && e.Button == tea.MouseLeft {
		return m.clickKey(e.X)
	}
	if n := len(m.open); n > 0 {
		return m.react(m.open[n-1], m.open[n-1].Click(e.X, e.Y))
	}
	if e.Button != tea.MouseLeft {
		return nil
	}
	m.notice = ""
	switch {
	case m.lay.Timeline.Has(e.X, e.Y):
		m.dragging = true
		m.dragTo(e.X)
		if k, ok := m.index.MarkAt(e.X-m.lay.Timeline.X, m.lay.Timeline.W, m.where()); ok && e.Y == m.lay.Timeline.Y {
			m.goTo(k.Pos) // the very event that the mark stands for
			m.say(k.Words)
		}
	case m.lay.Tabs.Has(e.X, e.Y):
		if n := tabAt(m.tabs(), e.X-m.lay.Tabs.X); n > 0 {
			m.setFocus(n)
		}
	case m.lay.Console.Has(e.X, e.Y):
		m.consoleKeys = true
		m.refocus()
	default:
		if n := m.lay.Hit(e.X, e.Y); n > 0 {
			same := n == m.focus && !m.consoleKeys
			m.setFocus(n)
			f := m.frame(n)
			if m.panes[n-1].Click(e.X, e.Y, &f) && same {
				return m.do(keymap.Open)
			}
			m.pointed = true
		}
	}
	return nil
}

// dragTo brings the scrubber to a column of the screen.
func (m *Explorer) dragTo(x int) {
	m.goTo(timeline.At(x-m.lay.Timeline.X, m.lay.Timeline.W, m.where()))
}

// clickKey answers a click on the key line as the key that is written there.
func (m *Explorer) clickKey(x int) tea.Cmd {
	b, ok := m.keyAt(x)
	if !ok {
		return nil
	}
	if b.Action == "" { // of an overlay or the console, which act on keys alone
		k, ok := pressed(b.Keys())
		if !ok {
			return nil
		}
		return m.key(k)
	}
	m.notice = ""
	if _, global := m.keys.Get(b.Action); !global {
		f := m.frame(m.focus)
		m.host().Dirty()
		return m.grant(m.host().Pane.Do(b.Action, m.host().Under(), &f))
	}
	return m.do(b.Action)
}

// pressed is the press of the first of some keys that a click can stand for.
func pressed(names []string) (tea.KeyPressMsg, bool) {
	special := map[string]tea.KeyPressMsg{
		"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab}, "up": {Code: tea.KeyUp},
		"pgup": {Code: tea.KeyPgUp}, "ctrl+c": {Code: 'c', Mod: tea.ModCtrl}, "ctrl+z": {Code: 'z', Mod: tea.ModCtrl}, "y": {Code: 'y', Text: "y"},
	}
	for _, n := range names {
		if k, ok := special[n]; ok {
			return k, true
		}
	}
	return tea.KeyPressMsg{}, false
}

func (m *Explorer) wheel(e tea.Mouse) {
	m.dirty = true
	by := 3
	if e.Button == tea.MouseWheelUp {
		by = -3
	} else if e.Button != tea.MouseWheelDown {
		return
	}
	switch {
	case len(m.open) > 0:
		m.open[len(m.open)-1].Wheel(by)
	case m.lay.Console.Has(e.X, e.Y):
		m.console.Wheel(by)
	case m.lay.Lesson.Has(e.X, e.Y):
		m.lessonText.By(by)
	case m.lay.Timeline.Has(e.X, e.Y):
		m.scrub(by)
	default:
		if n := m.lay.Hit(e.X, e.Y); n > 0 {
			f := m.frame(n)
			m.panes[n-1].Wheel(by, &f)
		}
	}
}

// setFocus gives a pane the focus.
func (m *Explorer) setFocus(n int) {
	if n < 1 || n > layout.Panes {
		return
	}
	m.focus, m.consoleKeys, m.all, m.reading = n, false, true, false
	m.refocus()
}

// nextFocus moves the focus along the panes on the screen; where there is only
// one, along all.
func (m *Explorer) nextFocus(by int) {
	order := make([]int, 0, layout.Panes)
	for _, s := range m.lay.Slots {
		order = append(order, s.Pane)
	}
	if len(order) < 2 {
		order = order[:0]
		for n := 1; n <= layout.Panes; n++ {
			order = append(order, n)
		}
	}
	if layout.Presets[m.preset].Main && len(m.lay.Slots) > 1 {
		order = layout.Presets[m.preset].Order
	}
	for i, n := range order {
		if n == m.focus {
			m.setFocus(order[((i+by)%len(order)+len(order))%len(order)])
			return
		}
	}
	m.setFocus(order[0])
}

// complete gives what could stand in place of the last word of a line.
func (m *Explorer) complete(line string) []string {
	head, word := "", line
	if i := strings.LastIndex(line, " "); i >= 0 {
		head, word = line[:i+1], line[i+1:]
	}
	return completions(m.state, m.ctl, m.console.Jobs(), strings.Fields(head), word)
}
