package lessons

import (
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
)

// Said is an answer to a question, which nothing changes any more: no undo, and no beginning of the beat once more.
type Said struct {
	Parts  []int    `json:"parts,omitempty"`  // the choice, or the parts of an answer in the order in which they were given
	Number *float64 `json:"number,omitempty"` //
	Point  string   `json:"point,omitempty"`  // the cell that was pointed at
	Among  []string `json:"among,omitempty"`  // what there was to point at
	Of     string   `json:"of,omitempty"`     // the question as it was written: another one has other parts at these places
}

// said is the whole answer to a step's question; nil while there is none.
func (s *Session) said(step *Step) *Said {
	q := step.Question
	if q == nil {
		return nil
	}
	switch q.Form() {
	case OneOf:
		if n, ok := s.answers[step.ID]; ok {
			return &Said{Of: q.written, Parts: []int{n}}
		}
	case Count:
		if x, ok := s.numbers[step.ID]; ok {
			return &Said{Of: q.written, Number: &x}
		}
	case Point:
		if name := s.pointed[step.ID]; name != "" {
			return &Said{Of: q.written, Point: name, Among: s.among[step.ID]}
		}
	default:
		if want, _ := q.parts(); len(s.given[step.ID]) == want {
			return &Said{Of: q.written, Parts: slices.Clone(s.given[step.ID])}
		}
	}
	return nil
}

// digest is of what can be answered, in the order in which it is written: by their places there an answer names its
// parts.
func (q *Question) digest() string {
	h := fnv.New64a()
	add := func(texts ...string) {
		for _, text := range texts {
			h.Write([]byte(text + "\x00"))
		}
	}
	add(q.Form())
	for _, c := range q.Choices {
		add(c.Text)
	}
	for _, c := range q.Cards {
		add(c.Text)
	}
	for _, l := range q.Labels {
		add(l.Text)
	}
	for _, m := range q.Items {
		add(m.Text)
	}
	return strconv.FormatUint(h.Sum64(), 16)
}

// says gives a step's question an answer that was given before. One to the question as it was written in an earlier
// version of the lesson is none: its parts may have stood in another order.
func (s *Session) says(step *Step, a *Said, sure int) {
	q := step.Question
	if q == nil || a == nil || a.Of != q.written || s.said(step) != nil {
		return
	}
	want, among := q.parts()
	switch q.Form() {
	case Count:
		if a.Number == nil {
			return
		}
		s.numbers[step.ID] = *a.Number
	case Point:
		if !slices.Contains(a.Among, a.Point) {
			return
		}
		s.pointed[step.ID] = a.Point
		s.pointAmong(step, a.Among)
	default:
		if len(a.Parts) != want || slices.ContainsFunc(a.Parts, func(n int) bool { return n < 0 || n >= among }) {
			return
		}
		if q.Form() == OneOf {
			s.answers[step.ID] = a.Parts[0]
		} else {
			s.given[step.ID] = slices.Clone(a.Parts)
		}
	}
	s.sure[step.ID] = sure
}

// memory is what was answered in a lesson, and which verdicts are kept, by step.
type memory struct {
	said  map[string]*Said
	sure  map[string]int
	noted map[string]bool
}

// remembers is what an attempt at the lesson under way has to go on with that begins once more: what the attempt
// before it was told, and what was kept of earlier sittings. A question that comes back is asked as if for the first
// time. The lock is held.
func (p *Player) remembers(again bool) memory {
	m := memory{map[string]*Said{}, map[string]int{}, map[string]bool{}}
	if p.recalling != nil {
		return m
	}
	if !p.ahead {
		for beat, mark := range p.progress.Lessons[p.lesson.ID].Beats {
			m.said[beat], m.sure[beat], m.noted[beat] = mark.Said, mark.Sure, mark.Right != nil
		}
	}
	if !again || p.beats == nil {
		return m
	}
	for _, step := range p.lesson.Steps {
		if a := p.beats.said(step); a != nil {
			m.said[step.ID], m.sure[step.ID] = a, p.beats.sure[step.ID]
		}
	}
	maps.Copy(m.noted, p.beats.noted)
	return m
}

// goOn has an attempt that stands at a beat know what was answered, and the beats in which it was judged.
// A verdict that was given before that beat stays as it is kept; one that was not given yet is given in this run.
func (p *playing) goOn(m memory) {
	for i, step := range p.Lesson.Steps[:p.at+1] {
		if step.Question == nil {
			continue
		}
		p.says(step, m.said[step.ID], m.sure[step.ID])
		if p.Verdict(step) == "" || !p.revealedHere(step) {
			continue
		}
		if beat := p.toldIn(i, step); beat < p.at && m.noted[step.ID] {
			p.tells[step.ID], p.noted[step.ID] = beat, true
		}
	}
}

// toldIn is the beat on whose way along the trace a question of a beat before it was answered.
func (p *playing) toldIn(asked int, step *Step) int {
	id := p.told[step.ID].at
	for _, f := range p.facts[step.ID] {
		if f.at.Compare(id) > 0 {
			id = f.at
		}
	}
	_, pos, ok := p.stream.At(id)
	for beat := asked; ok && beat < p.at; beat++ {
		if beat+1 < len(p.spans) && pos < p.spans[beat+1].From {
			return beat
		}
	}
	if !ok { // the text knows, or it has left memory
		return asked
	}
	return p.at
}

// keepSaid notes what was answered, as soon as it was.
func (p *Player) keepSaid(step *Step) error {
	if p.recalling != nil || p.ahead {
		return nil
	}
	a, sure := p.beats.said(step), p.beats.sure[step.ID]
	if a == nil {
		return nil
	}
	return p.progress.beat(p.lesson.ID, step.ID, func(m *BeatMark) { m.Said, m.Sure = a, sure })
}
