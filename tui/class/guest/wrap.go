package guest

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"kviz/tui/class/canvas"
	"kviz/tui/grid"
	"kviz/tui/theme"
)

// Program is what a student's terminal runs.
type Program interface {
	tea.Model
	Drawn() *grid.Grid // what View has drawn last
}

// Wrap gives a program that the host's student uses as they would use this one, and that a guest can be let into.
func (h *Host) Wrap(p Program) tea.Model {
	if h == nil {
		return p
	}
	return &model{host: h, program: p, row: canvas.New("")}
}

// model is a program with what is said of a guest at the right end of its last row.
type model struct {
	host    *Host
	program Program

	height int
	row    *canvas.Canvas // the last row, as it is drawn with what is said
	inner  tea.View       // what the program has shown last
	over   string         // what it was drawn over last
	said   string         // what was said there
	shown  string
	sent   tea.View // what the guest sees

	stands    stands
	asked     time.Time // when the question came
	key       time.Time // the newest of the program's
	answering bool      // the student has turned to the question
}

// Messages of a wrapped program.
type (
	guestMsg struct{}              // the guest has done something
	byHand   struct{ msg tea.Msg } // what came of a guest's key
)

// Init implements [tea.Model].
func (m *model) Init() tea.Cmd { return tea.Batch(m.program.Init(), m.wait()) }

// wait asks for a message when the guest does something.
func (m *model) wait() tea.Cmd {
	next, ended := m.host.changed.Next(), m.host.ended
	return func() tea.Msg {
		select {
		case <-next:
			return guestMsg{}
		case <-ended:
			return nil
		}
	}
}

// Update implements [tea.Model].
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case guestMsg:
		again := m.wait() // before it is read what the guest has done
		m.changes()
		return m, tea.Batch(m.takes(), again)
	case byHand:
		return m, m.came(msg.msg)
	case tea.WindowSizeMsg:
		m.height = msg.Height
		m.row.Takes(tea.WindowSizeMsg{Width: msg.Width, Height: 1})
	case tea.BackgroundColorMsg, tea.ColorProfileMsg:
		m.row.Takes(msg)
	case tea.KeyPressMsg:
		if m.ours(msg) {
			m.changes()
			return m, nil
		}
		m.key = time.Now()
	}
	return m, m.tells(msg)
}

// tells gives a message to the program.
func (m *model) tells(msg tea.Msg) tea.Cmd {
	next, cmd := m.program.Update(msg)
	if p, ok := next.(Program); ok {
		m.program = p
	}
	return cmd
}

// changes looks how it stands with the guest.
func (m *model) changes() {
	if now := m.host.stands(); now != m.stands {
		m.stands, m.asked, m.answering = now, time.Now(), false
	}
}

// takes gives what the guest has typed to the program.
func (m *model) takes() tea.Cmd {
	var all []tea.Cmd
	for msg := m.host.typed(); msg != nil; msg = m.host.typed() {
		all = append(all, theirs(m.tells(msg)))
	}
	return tea.Batch(all...)
}

// theirs marks all that a command of a guest's key comes to.
func theirs(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() tea.Msg {
		switch msg := cmd().(type) {
		case nil:
			return nil
		case tea.BatchMsg:
			marked := make(tea.BatchMsg, len(msg))
			for i, one := range msg {
				marked[i] = theirs(one)
			}
			return marked
		default:
			return byHand{msg}
		}
	}
}

// came is what came of a guest's key. What ends the program or stops it is the student's to ask for; what asks something of their
// terminal, such as its clipboard, is a message that no program knows.
func (m *model) came(msg tea.Msg) tea.Cmd {
	switch msg.(type) {
	case tea.QuitMsg, tea.InterruptMsg, tea.SuspendMsg:
		m.host.refuses("only " + m.host.name + " can leave here")
		return nil
	}
	return theirs(m.tells(msg))
}

// pause is for how long nothing was typed before a key is an answer: a word that is being typed is none.
const pause = time.Second

// direct reports whether y and n are answers: they may be letters of a line where there is a cursor.
func (m *model) direct() bool { return m.answering || m.inner.Cursor == nil }

// ours does what a key of the student's own means to the host; false where it is the program's.
func (m *model) ours(k tea.KeyPressMsg) bool {
	m.changes()
	switch m.stands {
	case nothing:
		return false
	case wants, reaches:
		return m.answer(k)
	default:
		if k.String() != endKey {
			return false
		}
		m.host.ends()
		return true
	}
}

// endKey is what turns to the question, and ends a look. No program of a student's has it.
const endKey = "ctrl+]"

// answer is a key while the student is asked.
func (m *model) answer(k tea.KeyPressMsg) bool {
	now := time.Now()
	waited := m.answering || now.Sub(m.asked) >= pause && now.Sub(m.key) >= pause
	switch k.String() {
	case endKey:
		m.answering = !m.answering
		return true
	case "y", "n":
		if !m.direct() || !waited {
			return false
		}
		m.host.answers(m.stands, k.String() == "y")
		return true
	case "esc":
		if !m.answering {
			return false
		}
		m.host.answers(m.stands, false)
		return true
	}
	m.answering = false
	return false
}

// says is what stands at the right end of the last row.
func (m *model) says() (text string, keys []grid.Span) {
	who := m.host.of.teacher
	answer := []grid.Span{{Text: endKey, Style: theme.Key}, {Text: " to answer", Style: theme.Text}}
	if m.direct() {
		answer = []grid.Span{{Text: "y", Style: theme.Key}, {Text: " yes  ", Style: theme.Text}, {Text: "n", Style: theme.Key}, {Text: " no", Style: theme.Text}}
	}
	end := []grid.Span{{Text: endKey, Style: theme.Key}, {Text: " ends it", Style: theme.Text}}
	switch m.stands {
	case wants:
		return who + " asks to look at your screen:", answer
	case looks:
		return who + " sees your screen", end
	case reaches:
		return who + " sees your screen, and asks to type on your keys:", answer
	case types:
		return who + " sees your screen and types on your keys", end
	}
	return "", nil
}

// View implements [tea.Model]. While nothing changed it gives the same string.
func (m *model) View() tea.View {
	v := m.program.View()
	m.inner = v
	m.publish(v)
	if m.stands == nothing || m.height < 1 || v.Content == "" {
		m.over, m.said, m.shown = "", "", ""
		return v
	}
	text, keys := m.says()
	if said := fmt.Sprint(text, keys, m.height); said != m.said || v.Content != m.over {
		m.said, m.over = said, v.Content
		m.row.Stale()
		m.shown = m.row.View(m.draw).Content
		if at := strings.LastIndexByte(v.Content, '\n'); m.height > 1 && at >= 0 {
			m.shown = v.Content[:at+1] + m.shown
		}
	}
	v.Content = m.shown
	return v
}

// draw draws the last row of the program with what is said over its right end.
func (m *model) draw(g *grid.Grid) (x, y int, cursor bool) {
	a := g.Area()
	a.Blit(m.program.Drawn(), m.height-1)
	text, keys := m.says()
	row := append([]grid.Span{{Text: " " + text + " ", Style: theme.Warn | grid.Bold | grid.Reverse}, {Text: " "}}, keys...)
	wide := 1
	for _, s := range row {
		wide += grid.Width(s.Text)
	}
	at := a.Sub(max(a.W()-wide-1, 0), 0, min(wide+1, a.W()), 1)
	at.Clear()
	at.Spans(1, 0, row...)
	return 0, 0, false
}

// publish puts what the student sees there for a guest who may see it.
func (m *model) publish(v tea.View) {
	if m.stands < looks {
		m.sent = tea.View{}
		return
	}
	if v.Content == m.sent.Content && same(v.Cursor, m.sent.Cursor) {
		return
	}
	m.sent = v
	f := &Frame{Grid: grid.New(0, 0)}
	m.program.Drawn().Copy(f.Grid)
	if v.Cursor != nil {
		f.X, f.Y, f.Cursor = v.Cursor.X, v.Cursor.Y, true
	}
	m.host.shows(f)
}

// same reports whether two cursors are at the same place.
func same(a, b *tea.Cursor) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Position == b.Position
}
