// Package student is the screen of somebody who follows a class: the teacher's stage at the size of their own terminal, with
// their own answer to the poll that is open, and what they can do besides: look around, raise a hand, ask, go into a run of
// their own. Nothing here can reach the teacher's cluster: what it is given reads (by type, not by a check), and says only what
// a student may say to the room.
//
// Start reading at [Model].
package student

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"kviz/lessons"
	"kviz/tui/class"
	"kviz/tui/class/canvas"
	"kviz/tui/class/lead"
	"kviz/tui/edit"
	"kviz/tui/pane"
	"kviz/tui/stage"
)

// Lead is what the teacher shows.
type Lead interface {
	Scene() *lead.Scene
	LookAs(given map[string]lessons.Answer) lessons.Look
	Whole(beat string, a lessons.Answer) bool
	Words(beat string, a lessons.Answer) string
}

// Room is what a student says to the class.
type Room interface {
	State() *class.State
	Answer(name, beat string, a *lessons.Answer, words string) error
	Raise(name string, up bool)
	Ask(name, text string)
	Paces(name string, by int)
}

// Config is a student's place.
type Config struct {
	Name    string // of the student
	Teacher string // what the teacher is called
	Word    string // with which the student is the same one when they come again; "" for none
	Lead    Lead
	Room    Room
	Panes   []pane.Maker
	Theme   string
	Says    string // what the student has to know at first

	// Changes gives channels that are closed with the next change of the scene, and of the room.
	Changes func() (scene, room <-chan struct{})
	// Alone is why the student can have no run of their own; "" if they can.
	Alone func() string
}

// Outcome is why the screen has ended.
type Outcome int

// The outcomes.
const (
	Left  Outcome = iota // the student has left the class
	Alone                // they go into a run of their own
)

// Model is the screen as a Bubble Tea program.
type Model struct {
	Outcome Outcome

	cfg    Config
	canvas *canvas.Canvas
	stage  *stage.Stage
	scene  *lead.Scene
	look   lessons.Look // as this student sees the lesson
	room   *class.State
	draft  draft
	away   *away // they look around; nil while they follow
	asks   *edit.Line
	notice string
	pace   int
	called uint64 // the call that was obeyed last
	shows  string // what of the room is on the screen
	ended  <-chan struct{}
}

// New makes the screen; it ends with ended.
func New(cfg Config, ended <-chan struct{}) *Model {
	m := &Model{cfg: cfg, canvas: canvas.New(cfg.Theme), stage: stage.New(cfg.Panes), ended: ended}
	m.room, m.notice = cfg.Room.State(), cfg.Says
	m.called = m.room.Called
	m.follow()
	return m
}

// Messages of the screen.
type (
	sceneMsg struct{}
	roomMsg  struct{}
	endMsg   struct{}
)

// between is the least time between two looks at what has changed: more would be written than is seen.
const between = time.Second / 12

// Init implements [tea.Model].
func (m *Model) Init() tea.Cmd { return tea.Batch(m.canvas.Init(), m.watch()) }

// watch asks for a message when scene or room change.
func (m *Model) watch() tea.Cmd {
	scene, room := m.cfg.Changes()
	had, knew := m.scene, m.room
	return func() tea.Msg {
		if m.cfg.Lead.Scene() != had {
			return sceneMsg{}
		}
		if m.cfg.Room.State().No != knew.No {
			return roomMsg{}
		}
		select {
		case <-scene:
			return sceneMsg{}
		case <-room:
			return roomMsg{}
		case <-m.ended:
			return endMsg{}
		}
	}
}

// again looks again after a while.
func (m *Model) again() tea.Cmd {
	watch := m.watch()
	return tea.Tick(between, func(time.Time) tea.Msg { return watch() })
}

// Update implements [tea.Model].
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if m.canvas.Takes(msg) {
		return m, nil
	}
	switch msg := msg.(type) {
	case roomMsg:
		if st := m.cfg.Room.State(); m.of(st) == m.shows { // thirty answers change nothing on thirty screens
			m.room = st
			return m, m.again()
		}
		m.changes()
		return m, m.again()
	case sceneMsg:
		m.changes()
		return m, m.again()
	case endMsg:
		return m, tea.Quit
	case tea.KeyPressMsg:
		m.canvas.Stale()
		return m, m.press(msg)
	case tea.PasteMsg:
		if m.asks != nil {
			m.asks.Insert(msg.Content)
			m.canvas.Stale()
		}
	}
	return m, nil
}

// changes draws what has changed.
func (m *Model) changes() {
	m.follow()
	m.canvas.Stale()
}

// of is all of the room that this student's screen shows.
func (m *Model) of(st *class.State) string {
	seat, _ := st.Seat(m.cfg.Name)
	text := fmt.Sprint(st.Here, st.Called, st.Pinned, seat.Hand, seat.Hint, seat.Answers, seat.Right, seat.Said)
	for _, beat := range st.Asked {
		p := st.Polls[beat]
		text += fmt.Sprint(" ", p.State)
		if p.State == class.Shown {
			text += fmt.Sprint(p.Answers)
		}
	}
	if b := m.look.Beat; b != nil {
		text += fmt.Sprint(" ", st.Gates[b.ID])
	}
	return text
}

// follow takes what the teacher shows, as this student sees it.
func (m *Model) follow() {
	m.room = m.cfg.Room.State()
	defer func() { m.shows = m.of(m.room) }()
	m.scene = m.cfg.Lead.Scene()
	if m.room.Called != m.called { // attention, please
		m.called, m.away, m.notice = m.room.Called, nil, m.cfg.Teacher+" calls everybody back"
	}
	m.looks()
}

// looks has the stage stand where the teacher's does, with the student's own answers on it.
func (m *Model) looks() {
	stand := m.scene.Stand
	if stand.History == nil {
		return
	}
	if b := stand.Look.Beat; b != nil {
		given := m.answers()
		if mine := m.cfg.Lead.LookAs(given); mine.Beat != nil && mine.Beat.Version == b.Version && mine.Beat.Stopped == b.Stopped {
			stand.Look = mine
		}
		if m.draft.silent[b.ID] || m.room.Polls[b.ID].State != class.Open {
			beat := *stand.Look.Beat
			beat.AskSure, beat.Held = false, false
			stand.Look.Beat = &beat
		}
	}
	m.look = stand.Look
	m.stage.Follow(stand)
}

// seat is the student as the room knows them.
func (m *Model) seat() class.Seat {
	s, _ := m.room.Seat(m.cfg.Name)
	return s
}

// poll is that of the beat on the stage; its state is "" where there is none.
func (m *Model) poll() class.Poll {
	if m.look.Beat == nil {
		return class.Poll{}
	}
	return m.room.Polls[m.look.Beat.ID]
}

// gate is that of the beat on the stage.
func (m *Model) gate() class.Gate {
	if m.look.Beat == nil {
		return class.Gate{}
	}
	return m.room.Gates[m.look.Beat.ID]
}
