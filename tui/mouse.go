package tui

import (
	tea "charm.land/bubbletea/v2"

	"kviz/tui/action"
	"kviz/tui/keymap"
)

// mouse answers a message of the mouse, and reports whether it was one.
func (m *Explorer) mouse(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case tea.MouseClickMsg:
		m.dragging = false
		return m.byHand(func() tea.Cmd { return m.click(msg.Mouse()) }), true
	case tea.MouseMotionMsg:
		if m.dragging && msg.Button == tea.MouseLeft {
			m.dragTo(msg.X)
		}
		return nil, true
	case tea.MouseReleaseMsg:
		m.dragging = false
		return nil, true
	case tea.MouseWheelMsg:
		return m.byHand(func() tea.Cmd { m.wheel(msg.Mouse()); return nil }), true
	}
	return nil, false
}

func (m *Explorer) click(e tea.Mouse) tea.Cmd {
	at := m.frame.Layout()
	if at.Keys.Has(e.X, e.Y) && e.Button == tea.MouseLeft {
		return m.clickKey(e.X)
	}
	if top := m.open.Top(); top != nil {
		return m.react(top.Click(e.X, e.Y))
	}
	if e.Button != tea.MouseLeft {
		return nil
	}
	m.notice = notice{}
	switch {
	case at.Timeline.Has(e.X, e.Y):
		m.dragging = true
		m.dragTo(e.X)
		if k, ok := m.travel.Index().MarkAt(e.X-at.Timeline.X, at.Timeline.W, m.history().Stream(), m.travel.Where()); ok && e.Y == at.Timeline.Y {
			m.travel.To(k.Pos) // the very event that the mark stands for
			m.say(k.Words)
		}
	case at.Tabs.Has(e.X, e.Y):
		return m.perform(action.Focus{Pane: m.frame.TabAt(e.X)})
	case at.Console.Has(e.X, e.Y):
		m.drawer.Type()
	default:
		if name := at.Hit(e.X, e.Y); name != "" {
			again := m.frame.Click(name, e.X, e.Y, m.moment())
			m.perform(action.Focus{Pane: name})
			if again {
				return m.perform(action.Key(keymap.Open))
			}
		}
	}
	return nil
}

// dragTo brings the scrubber to a column of the screen.
func (m *Explorer) dragTo(x int) {
	at := m.frame.Layout().Timeline
	m.travel.To(m.travel.Index().Position(x-at.X, at.W, m.history().Stream(), m.travel.Where()))
	m.frame.Unpoint()
}

// clickKey answers a click on the key line as the key that is written there.
func (m *Explorer) clickKey(x int) tea.Cmd {
	b, ok := m.frame.KeyAt(x)
	if !ok {
		return nil
	}
	if b.Action == "" { // of an overlay or the console, which act on keys alone
		if k, ok := pressed(b.Keys()); ok {
			return m.key(k)
		}
		return nil
	}
	m.notice = notice{}
	if _, global := m.keys.Get(b.Action); !global {
		return m.perform(action.Pane(b.Action))
	}
	return m.perform(action.Key(b.Action))
}

// pressed is the press of the first of some keys that a click can stand for.
func pressed(names []string) (tea.KeyPressMsg, bool) {
	special := map[string]tea.KeyPressMsg{
		"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab}, "up": {Code: tea.KeyUp},
		"pgup": {Code: tea.KeyPgUp}, "ctrl+c": {Code: 'c', Mod: tea.ModCtrl}, "ctrl+z": {Code: 'z', Mod: tea.ModCtrl},
		"y": {Code: 'y', Text: "y"}, "q": {Code: 'q', Text: "q"},
	}
	for _, n := range names {
		if k, ok := special[n]; ok {
			return k, true
		}
	}
	return tea.KeyPressMsg{}, false
}

func (m *Explorer) wheel(e tea.Mouse) {
	by := 3
	if e.Button == tea.MouseWheelUp {
		by = -3
	} else if e.Button != tea.MouseWheelDown {
		return
	}
	at := m.frame.Layout()
	switch {
	case !m.open.Empty():
		m.open.Top().Wheel(by)
	case at.Console.Has(e.X, e.Y):
		m.drawer.Wheel(by)
	case at.Lesson.Has(e.X, e.Y):
		m.lesson.Wheel(by)
	case at.Timeline.Has(e.X, e.Y):
		m.travel.Scrub(by)
		m.frame.Unpoint()
	default:
		if name := at.Hit(e.X, e.Y); name != "" {
			m.frame.Wheel(name, by, m.moment())
		}
	}
}
