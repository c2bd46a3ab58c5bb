package student

import (
	tea "charm.land/bubbletea/v2"

	"kviz/tui/class"
	"kviz/tui/edit"
	"kviz/tui/grid"
	"kviz/tui/keymap"
)

// The keys of a student.
var (
	ownKey    = bind(1, "own", "own run", "A cluster of your own, which stands where the class is.", "F")
	followKey = bind(1, "follow", "follow", "Follow the teacher again.", "f", "esc")
	handKey   = bind(3, "hand", "hand", "Raise your hand, or take it down.", "h")
	askKey    = bind(3, "ask", "ask", "Ask a question: the teacher sees it with your name.", "?")
	backKey   = bind(2, "back", "before", "Look around: the event before.", ",", "left")
	onKey     = bind(2, "on", "after", "Look around: the event after.", ".", "right")
	slowKey   = bind(5, "slower", "slower", "Too fast for you: nobody sees who says so.", "-")
	fastKey   = bind(5, "faster", "faster", "Too slow for you: nobody sees who says so.", "+", "=")
	takeKey   = bind(1, "take back", "change it", "Take your answer back, as long as the poll is open.", "backspace", "0")
	leaveKey  = bind(8, "leave", "leave", "Leave the class.", "q", "ctrl+c")
)

func bind(rank int, act, words, means string, keys ...string) keymap.Binding {
	b := keymap.Bind(act, words, means, keys...)
	b.Rank = rank
	return b
}

// All are the keys of a student, for the page of the help.
func All() []keymap.Binding {
	return []keymap.Binding{ownKey, followKey, handKey, askKey, backKey, onKey, slowKey, fastKey, takeKey, leaveKey}
}

// keys are those that do something now, most useful first.
func (m *Model) keys() []keymap.Binding {
	var keys []keymap.Binding
	switch {
	case m.asks != nil:
		return keymap.Hints(keymap.Hint("⏎", "send", "enter"), keymap.Hint("esc", "do not ask", "esc"))
	case m.away != nil:
		keys = append(keys, followKey, backKey, onKey)
	case m.open() && m.look.Beat.AskSure:
		keys = append(keys, keymap.Binding{Binding: keymap.Hint("1-3", "how sure", "1")}, takeKey)
	case m.open() && !m.whole():
		keys = append(keys, keymap.Binding{Binding: keymap.Hint("1-9", "answer", "1")})
	case m.open():
		keys = append(keys, takeKey)
	}
	if m.cfg.Alone != nil && m.alone() == "" {
		keys = append(keys, ownKey)
	}
	if m.away == nil && !m.room.Pinned {
		keys = append(keys, backKey, onKey)
	}
	return append(keys, handKey, askKey, slowKey, fastKey, leaveKey)
}

// whole reports whether the student has answered the question on the stage.
func (m *Model) whole() bool {
	if m.look.Beat == nil {
		return false
	}
	_, sent := m.seat().Answers[m.look.Beat.ID]
	return sent
}

func (m *Model) drawKeys(a grid.Area) {
	a.Sub(1, a.H()-1, a.W()-2, 1).Styled(keymap.Line(m.keys(), a.W()-2))
}

// press does what a key means.
func (m *Model) press(k tea.KeyPressMsg) tea.Cmd {
	m.notice = ""
	if m.asks != nil {
		m.typeQuestion(k)
		return nil
	}
	if m.open() {
		if does, ours := m.stage.Answer(k); ours {
			m.says(does)
			return nil
		}
	}
	switch keymap.Action(k, All()) {
	case ownKey.Action:
		if why := m.alone(); why != "" {
			m.notice = why
			return nil
		}
		m.Outcome = Alone
		return tea.Quit
	case followKey.Action:
		m.away = nil
	case handKey.Action:
		m.cfg.Room.Raise(m.cfg.Name, !m.seat().Hand)
		m.follow()
	case askKey.Action:
		m.asks = &edit.Line{}
	case backKey.Action, onKey.Action:
		switch {
		case m.room.Pinned:
			m.notice = m.held()
		case keymap.Action(k, All()) == backKey.Action:
			m.walk(-1)
		default:
			m.walk(1)
		}
	case slowKey.Action:
		m.paces(1)
	case fastKey.Action:
		m.paces(-1)
	case takeKey.Action:
		if m.open() {
			m.takeBack()
		}
	case leaveKey.Action:
		m.Outcome = Left
		return tea.Quit
	default:
		m.digit(k.Text)
	}
	return nil
}

// digit looks at a pane, unless a question is on the stage: one who is late with an answer should not find themselves
// elsewhere.
func (m *Model) digit(text string) {
	switch {
	case len(text) != 1 || text < "1" || text > "9":
	case m.away == nil && m.poll().State == class.Closed:
		m.notice = class.ErrFrozen.Error()
	case m.away == nil && m.open():
	case m.room.Pinned:
		m.notice = m.held()
	default:
		m.lookAround(int(text[0] - '1'))
	}
}

// alone is why the student can have no run of their own.
func (m *Model) alone() string {
	if m.room.Pinned {
		return m.held()
	}
	if m.cfg.Alone == nil {
		return "there are no runs of one's own in this class"
	}
	return m.cfg.Alone()
}

// held is why the student stays at what the teacher shows.
func (m *Model) held() string { return "that waits until " + m.cfg.Teacher + " lets everybody go" }

// paces says that it is too fast (1) or too slow (-1), and with the same key once more that it is right again.
func (m *Model) paces(by int) {
	if m.pace == by {
		by = 0
	}
	m.pace = by
	m.cfg.Room.Paces(m.cfg.Name, by)
	m.notice = map[int]string{1: "it is too fast for you: nobody sees who says so", 0: "the pace is right for you", -1: "it is too slow for you: nobody sees who says so"}[by]
}

// mostAsked is how many characters a question has at most.
const mostAsked = 200

// typeQuestion takes a key of a question.
func (m *Model) typeQuestion(k tea.KeyPressMsg) {
	switch k.String() {
	case "esc", "ctrl+c":
		m.asks = nil
	case "enter":
		if text := grid.Clean(m.asks.String()); text != "" {
			m.cfg.Room.Ask(m.cfg.Name, class.Short(text, mostAsked))
			m.notice = "your question is on the teacher's screen"
		}
		m.asks = nil
	default:
		m.asks.Key(k)
	}
}
