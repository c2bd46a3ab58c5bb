package tui

import (
	"fmt"
	"runtime"

	tea "charm.land/bubbletea/v2"

	"kviz/cluster/control"
	"kviz/tui/action"
	"kviz/tui/keymap"
	"kviz/tui/overlay"
)

// Messages of the start of the cluster.
type (
	bootSay  string // how far it is
	bootDone struct {
		cluster Cluster
		err     error
	}
)

// Messages of what runs beside the explorer ([Config.Beside]).
type (
	lessonChanged struct{}            // what the lesson shows
	besideDone    struct{ err error } // it has ended
)

// faultDone says what came of a fault that was done beside the explorer.
type faultDone struct{ says action.Action }

// Update implements [tea.Model].
func (m *Explorer) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tickMsg:
		m.pump.ticking = false
		return m, m.look()
	case wakeMsg:
		msg.of.watching = false
		return m, tea.Batch(m.tick(), m.watch(m.ctx))
	}
	m.screen.dirty = true
	if cmd, ours := m.mouse(msg); ours {
		return m, tea.Batch(cmd, m.tick())
	}
	if m.hosted(msg) {
		return m, m.tick()
	}
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.frame.Resize(msg.Width, msg.Height)
		return m, nil
	case tea.BackgroundColorMsg:
		m.frame.Background(msg.IsDark())
		return m, nil
	case tea.ColorProfileMsg:
		m.frame.Profile(msg.Profile)
		return m, nil
	case bootSay:
		m.drive.Booting(string(msg))
		return m, nil
	case bootDone:
		m.started(msg)
	case forkTold:
		m.forkTold(control.ForkProgress(msg))
	case forkDone:
		cmd = m.forkDone(msg)
	case leftBehind:
		cmd = m.expire(msg.run)
	case oddsTold:
		m.oddsTold(OddsProgress(msg))
	case oddsDone:
		m.oddsDone(msg)
	case compared:
		cmd = m.perform(m.compared(msg))
	case saved:
		cmd = m.perform(m.saved(msg))
	case handedOut:
		m.say(msg.says())
	case faultDone:
		m.drive.Expect()
		cmd = m.perform(msg.says)
	case lessonChanged:
		cmd = m.perform(m.lesson.Update())
		m.stage.Update(m.lesson.Look(), m.history())
	case besideDone:
		if msg.err != nil {
			m.say(msg.err.Error())
		}
	case tea.BlurMsg:
		m.moving.player.Blur(true)
	case tea.FocusMsg:
		m.moving.player.Blur(false)
	case tea.KeyPressMsg:
		cmd = m.byHand(func() tea.Cmd { return m.key(msg) })
	case tea.PasteMsg:
		cmd = m.byHand(func() tea.Cmd { m.paste(msg.Content); return nil })
	case lendMsg:
		return m, msg.exec()
	case tea.ResumeMsg, lentMsg:
		m.frame.Anew()
	}
	return m, tea.Batch(cmd, m.tick())
}

// byHand does what the person asks for. Nobody waits for a picture to come to rest, and a tour
// ends: whoever does something has taken over.
func (m *Explorer) byHand(do func() tea.Cmd) tea.Cmd {
	m.moving.player.Finish()
	var says action.Action
	m.tour.waits = ""
	if m.tour.on() {
		says = m.endTour("you have taken over: speed 1")
	}
	cmd := do()
	if m.notice.text == "" {
		m.perform(says)
	}
	return cmd
}

// started takes the cluster that was waited for.
func (m *Explorer) started(b bootDone) {
	m.connect(b.cluster, b.err)
	if b.err != nil {
		return
	}
	m.notice = notice{} // that it waits for the cluster
	m.pull(0)
	if does := m.lesson.Up(m.frame.Width()); does != nil {
		m.perform(does)
	}
	if name := m.tour.waits; name != "" {
		m.perform(m.watchTour(name))
	}
}

// connect takes a cluster, or why there is none.
func (m *Explorer) connect(c Cluster, failed error) {
	m.cluster = c
	m.drive.Started(c, failed)
}

// pastedMost is how many bytes a line of the console takes.
const pastedMost = 64 << 10

func (m *Explorer) paste(text string) {
	if top := m.open.Top(); top != nil {
		top.Paste(text)
	} else if m.drawer.Typing() {
		if len(text) > pastedMost {
			m.say(fmt.Sprintf("%d KB are too much for a line, which takes %d: keep them in a file, and run sh FILE or kubectl apply -f FILE", len(text)>>10, pastedMost>>10))
			return
		}
		m.drawer.Paste(text)
	}
}

// key answers a key press: the open overlay first, then the console, then the large
// lesson, the focused pane's own keys, the lesson beside the panes, and then the keys
// that work everywhere.
func (m *Explorer) key(k tea.KeyPressMsg) tea.Cmd {
	inFront := m.drawer.Typing() && m.open.Empty() && m.drawer.Running() != "" // which goes to the background
	if k.String() == "ctrl+z" && !inFront && cannotSuspend(m.cfg.Remote, runtime.GOOS) == "" {
		return tea.Suspend
	}
	if m.frame.TooSmall() && m.keys.Action(k) != keymap.Quit { // nobody sees what a key would do
		return nil
	}
	if top := m.open.Top(); top != nil {
		return m.react(top.Key(k))
	}
	if m.stage.On() && !m.drawer.Typing() {
		m.notice = notice{}
		return m.perform(m.stage.Key(k))
	}
	width := m.frame.Width()
	if m.drawer.Typing() {
		if name := m.lesson.ConsoleKey(k, width); name != "" && m.lesson.Active() {
			return m.perform(action.Lesson(name))
		}
		return m.perform(m.entered(k))
	}
	m.notice = notice{}
	if m.lesson.Active() && m.lesson.Large(width) {
		if name := m.lesson.Key(k, width); name != "" {
			return m.perform(action.Lesson(name))
		}
	}
	if name := keymap.Action(k, m.frame.Focused().Pane.Info().Keys); name != "" && m.frame.Layout().Shows(m.frame.Focused().Name) {
		return m.perform(action.Pane(name))
	}
	if m.lesson.Shown() || m.lesson.Active() && m.lesson.Has(k) {
		if name := m.lesson.Key(k, width); name != "" {
			return m.perform(action.Lesson(name))
		}
	}
	return m.perform(action.Key(m.keys.Action(k)))
}

// entered gives a key to the console, and what is to be done with the line that it ends.
func (m *Explorer) entered(k tea.KeyPressMsg) action.Action {
	line := m.drawer.Press(k, m.travel.State(), m.cluster)
	if line == "" {
		return nil
	}
	return action.Exec{Line: line}
}

// react does what came of a key or a click in an overlay.
func (m *Explorer) react(r overlay.Reaction) tea.Cmd {
	if r.Close {
		m.open.Pop()
	}
	if r.Do == nil {
		return nil
	}
	m.notice = notice{}
	return m.perform(r.Do)
}
