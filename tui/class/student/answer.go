package student

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"kviz/lessons"
	"kviz/tui/action"
	"kviz/tui/class"
)

// draft is an answer in the making: a question in parts takes several keys. What is whole goes to the room at once, and can be
// taken back as long as the poll is open.
type draft struct {
	beat   string
	answer lessons.Answer
	silent map[string]bool // beats of which the student does not say how sure they are
}

// answers are all that the student has answered, with what is in the making.
func (m *Model) answers() map[string]lessons.Answer {
	given := m.seat().Answers
	if m.draft.beat == "" {
		return given
	}
	if _, sent := given[m.draft.beat]; sent {
		return given
	}
	all := maps.Clone(given)
	if all == nil {
		all = map[string]lessons.Answer{}
	}
	all[m.draft.beat] = m.draft.answer
	return all
}

// open reports whether the student can answer now.
func (m *Model) open() bool { return m.poll().State == class.Open && m.away == nil }

// says does what a key of the question came to.
func (m *Model) says(does action.Action) {
	switch does := does.(type) {
	case action.All:
		for _, one := range does {
			m.says(one)
		}
	case action.Lesson:
		m.answer(string(does))
	}
}

// answer takes a part of an answer, or all of it.
func (m *Model) answer(what string) {
	beat := m.look.Beat.ID
	if m.draft.beat != beat {
		m.draft.beat, m.draft.answer = beat, lessons.Answer{}
	}
	a := &m.draft.answer
	if sent, ok := m.seat().Answers[beat]; ok {
		*a = sent
	}
	word, arg, _ := strings.Cut(what, " ")
	switch word {
	case "answer":
		n, err := strconv.Atoi(arg)
		if err != nil {
			return
		}
		if m.look.Form == lessons.Order && slices.Contains(a.Parts, n-1) { // it has its place
			return
		}
		a.Parts = append(slices.Clip(a.Parts), n-1)
	case "undo":
		if len(a.Parts) > 0 {
			a.Parts = a.Parts[:len(a.Parts)-1]
		}
	case "number":
		x, err := strconv.ParseFloat(arg, 64)
		if err != nil {
			return
		}
		a.Number = &x
	case "point":
		names := strings.Fields(arg)
		if len(names) == 0 {
			return
		}
		a.Point, a.Among = names[0], names[1:]
	case "sure":
		a.Sure, _ = strconv.Atoi(arg)
		if a.Sure == 0 {
			if m.draft.silent == nil {
				m.draft.silent = map[string]bool{}
			}
			m.draft.silent[beat] = true
		}
	}
	m.send(beat)
}

// send sends an answer that is whole.
func (m *Model) send(beat string) {
	if !m.cfg.Lead.Whole(beat, m.draft.answer) {
		m.follow()
		return
	}
	a := m.draft.answer
	if err := m.cfg.Room.Answer(m.cfg.Name, beat, &a, m.cfg.Lead.Words(beat, a)); err != nil {
		m.notice = err.Error()
	}
	m.follow()
}

// takeBack takes the answer back, as long as the poll is open.
func (m *Model) takeBack() {
	beat := m.look.Beat.ID
	if _, sent := m.seat().Answers[beat]; !sent {
		m.answer("undo")
		return
	}
	if err := m.cfg.Room.Answer(m.cfg.Name, beat, nil, ""); err != nil {
		m.notice = err.Error()
		return
	}
	m.draft = draft{}
	m.follow()
}
