package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"kviz/tui/frame"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/pane"
	"kviz/tui/stage"
)

// screen is the view that was drawn last.
type screen struct {
	shown  tea.View
	dirty  bool
	frames uint64 // drawn
}

// View implements [tea.Model]. While nothing changed it gives the same string,
// which the renderer takes as "nothing to do".
func (m *Explorer) View() tea.View {
	s := &m.screen
	if m.frame.Width() == 0 || !s.dirty {
		return s.shown
	}
	s.dirty = false
	s.frames++
	title := "kviz"
	if m.recording != "" {
		title += " " + m.recording
	}
	content, cursor := m.frame.Draw(m.picture())
	s.shown = tea.View{Content: content, AltScreen: true, MouseMode: tea.MouseModeCellMotion, WindowTitle: title, Cursor: cursor, ReportFocus: true}
	return s.shown
}

// Drawn is what View has drawn last.
func (m *Explorer) Drawn() *grid.Grid { return m.frame.Grid(!m.open.Empty()) }

// picture is what stands around the panes now.
func (m *Explorer) picture() frame.Picture {
	at, typing := m.moment(), m.drawer.Typing()
	p := frame.Picture{
		Moment:  at,
		Status:  m.status(),
		Explain: m.explain(),
		Keys:    m.hints(),
		Help:    m.open.Empty() && !typing,
		Curve:   m.curve != nil,
		Other:   m.besideMoment(),
		Timeline: func(a grid.Area) {
			if m.curve != nil {
				m.curve.Draw(a.Rows(a.H()-1, 1), m.columnOf(a.W()))
				a = a.Rows(0, a.H()-1)
			}
			m.travel.Index().Draw(a, m.history().Stream(), m.travel.Where())
		},
		Large:   m.lesson.Large(m.frame.Width()),
		Console: m.drawer.DrawIn(typing && m.open.Empty(), m.drive.Clock().Paused && m.travel.Live()),
		Needs:   m.drawer.Needs,
		Typing:  typing,
		Overlay: m.open.Top(),
	}
	if m.stage.On() {
		p.Stage = func(g *grid.Grid) (x, y int, cursor bool) { return m.stage.Draw(g, m.aroundStage()) }
	}
	if m.lesson.Shown() {
		p.Lesson = func(a grid.Area) { m.lesson.Draw(a, m.frame.Width(), typing) }
	}
	return p
}

// aroundStage is what stands around a lesson's stage.
func (m *Explorer) aroundStage() stage.Around {
	typing := m.drawer.Typing() && m.open.Empty()
	return stage.Around{
		Speed: m.drive.Clock().Speed, Notice: m.notice.text, Undo: m.undoSays(),
		Console: stage.Console{Open: m.drawer.Typing(), Draw: m.drawer.DrawIn(typing, false), Keys: m.drawer.Keys(), Last: stage.Command(m.drawer.Last())},
	}
}

// path says what a step follows, and how to leave it.
func (m *Explorer) path() string {
	of := m.followed()
	if of.Words == "" || m.travel.Past() || !m.drive.Clock().Paused {
		return ""
	}
	step, _ := m.keys.Get(keymap.StepInto)
	grain, _ := m.keys.Get(keymap.GrainMenu)
	return step.Labels() + " goes along what comes of #" + of.ID.String() + " " + of.Words + " · " + grain.Labels() + " chooses another step"
}

func (m *Explorer) status() frame.Status {
	s := frame.Status{
		Recording: m.recording, Boot: m.drive.Boot(), Failed: m.drive.Failed(), Now: m.travel.State().At, Speed: m.drive.Clock().Speed,
		Live: m.travel.Live(), Playing: m.travel.Playing(), Clock: m.drive.Clock(), State: m.travel.State(),
	}
	if len(m.branches) > 1 {
		s.Name, s.Left = m.name, m.left
	}
	if s.Live {
		s.Now = m.drive.Elapsed(s.Now)
	}
	if m.travel.Past() {
		s.Speed = m.travel.Speed()
	}
	return s
}

// paneHints is after how many of the explorer's own keys those of the focused pane
// come in the key line.
const paneHints = 6

// Places in the key line of what can be done only now: of what the screen is good for now, and of what it is good for too.
const (
	firstHints = 2
	laterHints = 6
)

// now is the place in the key line of an action that can be done as things stand; 0 where it has that of its rank. In the
// past it is to leave it there, or to ask when something became inevitable; beside another run to find what differs. Where
// the cluster stands, steps come first.
func (m *Explorer) now(name string) int {
	switch name {
	case keymap.Fork, keymap.Odds:
		switch {
		case m.comparing.other != nil:
			return 0
		case m.travel.Past():
			return firstHints
		case m.cluster != nil && m.drive.Clock().Paused:
			return laterHints
		}
	case keymap.Compare:
		switch {
		case m.comparing.other != nil:
			return firstHints
		case len(m.branches) > 1:
			return laterHints
		}
	case keymap.Differs, keymap.Outcome:
		if m.comparing.other != nil {
			return firstHints
		}
	}
	return 0
}

// hints are what can be done now, most useful first.
func (m *Explorer) hints() []keymap.Binding {
	if top := m.open.Top(); top != nil {
		return keymap.Hints(top.Keys()...)
	}
	if m.drawer.Typing() {
		return keymap.Hints(m.drawer.Keys()...)
	}
	var out, last []keymap.Binding
	early, later := 0, []keymap.Binding{}
	for _, b := range m.keys.Ranked() {
		if !m.useful(b.Action) || b.Action == keymap.Help { // the way to help stands at the right
			continue
		}
		if len(out) == paneHints {
			for _, k := range m.frame.Focused().Pane.Info().Keys {
				if k.Last {
					last = append(last, k)
				} else {
					out = append(out, k)
				}
			}
		}
		b.SetHelp(b.Help().Key, m.wordsFor(b))
		switch m.now(b.Action) {
		case firstHints:
			out = slices.Insert(out, min(len(out), firstHints+early), b)
			early++
		case laterHints:
			if b.Action == keymap.Compare { // two runs are there to be compared
				later = slices.Insert(later, 0, b)
			} else {
				later = append(later, b)
			}
		default:
			out = append(out, b)
		}
	}
	out = slices.Insert(out, min(len(out), laterHints+early), later...)
	return forSubject(m.frame.Focused().Host, append(out, last...))
}

// forSubject has those keys of a pane stand early that are there for what its cursor is on.
func forSubject(h *pane.Host, keys []keymap.Binding) []keymap.Binding {
	p, ok := h.Pane.(pane.Prompter)
	if !ok {
		return keys
	}
	at := firstHints
	for _, name := range p.For(h.Under()) {
		i := slices.IndexFunc(keys, func(b keymap.Binding) bool { return b.Action == name })
		if i <= at {
			continue
		}
		b := keys[i]
		keys = slices.Insert(slices.Delete(keys, i, i+1), at, b)
		at++
	}
	return keys
}

// useful reports whether an action does something now.
func (m *Explorer) useful(name string) bool {
	recording := m.recording != ""
	switch name {
	case keymap.Now:
		return !m.travel.Live()
	case keymap.StepOver:
		return !recording
	case keymap.Until, keymap.Faults:
		return !recording && m.cluster != nil
	case keymap.Console:
		return !recording
	case keymap.Fork, keymap.Odds:
		return m.cfg.Forks != nil && (recording || m.cluster != nil)
	case keymap.Runs, keymap.Compare:
		return len(m.branches) > 1
	case keymap.Differs, keymap.Outcome:
		return m.comparing.other != nil
	case keymap.Lesson:
		return !m.lesson.None()
	}
	return true
}

// wordsFor are the words of a key where they depend on what is going on.
func (m *Explorer) wordsFor(b keymap.Binding) string {
	switch b.Action {
	case keymap.Pause:
		switch {
		case m.travel.Past() && m.travel.Playing():
			return "stop"
		case m.travel.Past():
			return "play"
		case m.drive.Clock().Paused:
			return "run"
		}
	case keymap.Compare:
		if m.comparing.other != nil {
			return "leave it"
		}
	case keymap.StepInto:
		if m.followed().Words != "" {
			return "step path"
		}
		if len(m.branches) > 1 && m.frame.Width() < 100 { // what can be done with two runs is to be seen beside it
			return "step"
		}
		return "step " + m.drive.Grain().String()
	}
	return b.Words()
}
