package lessons

import (
	"time"

	"kviz/cluster/expr"
	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// Session judges one attempt at a lesson: it folds the events that happen
// after the scene was set, and the learner's answers. The same events and
// answers always give the same verdict. It belongs to one goroutine.
type Session struct {
	Lesson *Lesson

	b       *view.Builder
	met     map[string]trace.ID      // edges, and the event that met them
	broken  map[string]trace.ID      // nevers, and the event that broke them
	since   map[string]time.Duration // levels with a hold: true since; absent while false
	passed  map[string]bool          // steps whose goals were all met once
	answers map[string]int           // by step: index of the choice
	told    map[string]verdict       // by step: what the simulation did
	given   map[string][]int         // by step: the parts of an answer, as far as it goes
	facts   map[string][]fact        // by step: what the simulation did about the parts of its question
	failed  error                    // an expression that could not be answered

	seed    uint64             // by which the parts of questions are laid out
	at      int                // the beat that is under way; those after it are not judged
	values  expr.Values        // what names stand for
	numbers map[string]float64 // by step: the number answered
	pointed map[string]string  // by step: the cell that was pointed at
	among   map[string][]string
	sure    map[string]int     // by step: how sure the learner was, 1 to 3
	near    map[string]nearing // by goal: what came near to it last
	nearest map[string]closest // by goal: the event that came nearest to it
	shown   map[string]bool    // steps that were shown instead of done

	doings doings
	lost   map[string]nearing // by goal: that it can no longer be met
}

// verdict is what the simulation did about a prediction.
type verdict struct {
	at    trace.ID
	holds []bool          // for each choice, whether it came true
	right float64         // of a number: the answer
	cells map[string]bool // of cells to point at: which are right
}

// NewSession begins an attempt at a state: that of the cluster when the scene
// was set.
func NewSession(l *Lesson, start *view.State) *Session {
	s := &Session{
		Lesson: l, b: view.From(start), met: map[string]trace.ID{}, broken: map[string]trace.ID{},
		since: map[string]time.Duration{}, passed: map[string]bool{}, answers: map[string]int{}, told: map[string]verdict{},
		given: map[string][]int{}, facts: map[string][]fact{},
		values: expr.Values{}, numbers: map[string]float64{}, pointed: map[string]string{}, among: map[string][]string{}, sure: map[string]int{}, near: map[string]nearing{}, nearest: map[string]closest{}, shown: map[string]bool{},
		doings: newDoings(), lost: map[string]nearing{},
	}
	s.levels()
	return s
}

// Apply folds one event.
func (s *Session) Apply(e *trace.Event) {
	s.b.Apply(e)
	s.doings.hears(e)
	s.look(s.b.Live(), e)
}

// look judges an event that was folded.
func (s *Session) look(st *view.State, e *trace.Event) {
	step := s.Lesson.Steps[s.at]
	for _, g := range step.Goals {
		s.judge(g, st, e)
		s.miss(g, st, e)
		if !s.passed[step.ID] {
			s.nears(g, st, e)
		}
	}
	s.answersAt(st, e)
	s.pass()
}

// answersAt notes what an event answers of what was asked up to the beat under way.
func (s *Session) answersAt(st *view.State, e *trace.Event) {
	for _, step := range s.Lesson.Steps[:s.at+1] {
		s.reveal(step, st, e)
		s.watch(step, st, e)
	}
}

// pass notes that the goals of the beat under way are all met now.
func (s *Session) pass() {
	step := s.Lesson.Steps[s.at]
	if s.passed[step.ID] || len(step.Goals) == 0 {
		return
	}
	for _, g := range step.Goals {
		if _, done := s.met[g.ID]; g.edge != nil && !g.Optional && !done {
			return
		}
	}
	for _, g := range step.Goals {
		if g.edge == nil && !g.Optional && !s.Met(g) {
			return
		}
	}
	s.passed[step.ID] = true
}

func (s *Session) judge(g *Goal, st *view.State, e *trace.Event) {
	switch {
	case g.edge != nil:
		if _, done := s.met[g.ID]; done {
			return
		}
		// A goal after another needs an event of its own.
		if before, ok := s.met[g.After]; g.After != "" && (!ok || before == e.ID) {
			return
		}
		if s.holds(g.edge, st, e) {
			s.met[g.ID] = e.ID
		}
	case g.never != nil:
		if _, done := s.broken[g.ID]; !done && s.holds(g.never, st, e) {
			s.broken[g.ID] = e.ID
		}
	case g.Hold > 0:
		if !s.holds(g.level, st, e) {
			delete(s.since, g.ID)
		} else if _, ok := s.since[g.ID]; !ok {
			s.since[g.ID] = st.At
		}
	}
}

// levels looks at what holds at the beginning.
func (s *Session) levels() {
	s.lasting(s.Lesson.Steps[s.at], s.b.Live())
	s.pass()
}

// lasting looks at what holds as a step begins.
func (s *Session) lasting(step *Step, st *view.State) {
	for _, g := range step.Goals {
		if g.Hold > 0 && s.holds(g.level, st, st.Event) {
			s.since[g.ID] = st.At
		}
	}
}

func (s *Session) reveal(step *Step, st *view.State, e *trace.Event) {
	q := step.Question
	if q == nil || q.reveal == nil {
		return
	}
	if _, done := s.told[step.ID]; done || !s.holds(q.reveal, st, e) {
		return
	}
	v := verdict{at: e.ID}
	for _, c := range q.Choices {
		v.holds = append(v.holds, c.is != nil && s.holds(c.is, st, e))
	}
	if q.Number != nil {
		v.right = s.number(q.Number, st, e)
	}
	if q.Point != nil {
		v.cells = s.cells(step, st, e)
	}
	s.told[step.ID] = v
}

func (s *Session) holds(c *condition, st *view.State, e *trace.Event) bool {
	return s.holdsIn(c, st, e, s.values)
}

// holdsIn is holds where names stand for something else.
func (s *Session) holdsIn(c *condition, st *view.State, e *trace.Event, names expr.Values) bool {
	ok, err := c.holds(st, e, names)
	if err != nil && s.failed == nil {
		s.failed = err
	}
	return ok
}

// Err is the first expression that could not be answered, if there was one: a
// mistake in the lesson.
func (s *Session) Err() error { return s.failed }

// Met reports whether a goal is met now.
func (s *Session) Met(g *Goal) bool {
	switch {
	case g.edge != nil:
		_, ok := s.met[g.ID]
		return ok
	case g.never != nil:
		_, ok := s.broken[g.ID]
		return !ok
	case g.Hold > 0:
		since, ok := s.since[g.ID]
		return ok && s.b.Live().At-since >= g.Hold
	}
	st := s.b.Live()
	return s.holds(g.level, st, st.Event)
}

// MetAt is the event that met an edge; zero for others.
func (s *Session) MetAt(g *Goal) trace.ID { return s.met[g.ID] }

// Passed reports whether a step is done: its goals were all met together once,
// and its question, if it has one, is answered; one of order or match must be
// answered right.
func (s *Session) Passed(step *Step) bool {
	switch q := step.Question; {
	case q != nil && q.Form() == Count:
		if _, ok := s.numbers[step.ID]; !ok {
			return false
		}
	case q != nil && q.Form() == Point:
		if s.pointed[step.ID] == "" {
			return false
		}
	case q != nil && q.Form() != OneOf:
		if !s.Settled(step) {
			return false
		}
	case q != nil:
		if _, ok := s.answers[step.ID]; !ok {
			return false
		}
	}
	return s.reached(step)
}

// reached reports whether a step's goals were all met together once, after
// those of the beats before it.
func (s *Session) reached(step *Step) bool { return len(step.Goals) == 0 || s.passed[step.ID] }

// Answer chooses an answer to a step's question. A prediction that the
// simulation has already answered, and a quiz that was answered, stand. A
// question of order or match takes one part at a time, until all are right.
func (s *Session) Answer(step *Step, choice int) bool {
	q := step.Question
	if q == nil {
		return false
	}
	if q.Form() == Count || q.Form() == Point {
		return false
	}
	if _, among := q.parts(); choice < 0 || choice >= among {
		return false
	}
	if q.Form() != OneOf {
		return s.put(step, choice)
	}
	if _, frozen := s.answers[step.ID]; frozen {
		return false
	}
	s.answers[step.ID] = choice
	return true
}

func (s *Session) answered(step *Step) bool { _, ok := s.told[step.ID]; return ok }

// Answered is the choice made, or -1.
func (s *Session) Answered(step *Step) int {
	if n, ok := s.answers[step.ID]; ok {
		return n
	}
	return -1
}

// Revealed reports whether it is known which answer is right: for a quiz when
// it was answered, for a prediction when the simulation has done it.
func (s *Session) Revealed(step *Step) bool {
	if step.Question == nil {
		return false
	}
	if f := step.Question.Form(); f == Count || f == Point {
		return s.answered(step)
	}
	if step.Question.Form() != OneOf {
		return s.Settled(step)
	}
	if step.Question.Quiz() {
		return s.Answered(step) >= 0
	}
	return s.answered(step)
}

// Verdict says what became of an answer, in a sentence; "" while that is not
// known or nothing was answered.
func (s *Session) Verdict(step *Step) string {
	switch q := step.Question; {
	case q != nil && q.Form() == Count:
		return s.judgeNumber(step)
	case q != nil && q.Form() == Point:
		return s.judgePoint(step)
	case q != nil && q.Form() != OneOf:
		return s.judgeParts(step)
	}
	n := s.Answered(step)
	if n < 0 || !s.Revealed(step) {
		return ""
	}
	q := step.Question
	mine := q.Choices[n]
	right, at := mine.Right, ""
	if v, ok := s.told[step.ID]; ok {
		right = v.holds[n]
		at = " (#" + v.at.String() + ")"
	}
	usual := s.usual(step)
	if right {
		return "Right" + at + ". " + mine.Why + usual
	}
	s1 := "No" + at + ". " + mine.Why
	for i, c := range q.Choices {
		came := c.Right
		if v, ok := s.told[step.ID]; ok {
			came = v.holds[i]
		}
		if came {
			s1 += " What happened: " + c.Text + "."
			if c.Why != mine.Why {
				s1 += " " + c.Why
			}
		}
	}
	return s1 + usual
}

// usual says that a run went another way than most do, "" where it did not: elections are real, and
// the run decides what was right.
func (s *Session) usual(step *Step) string {
	v, told := s.told[step.ID]
	for i, c := range step.Question.Choices {
		if told && c.Right && !v.holds[i] && !step.Question.Varies {
			return " That is so in your run; the usual outcome is: " + c.Text + "."
		}
	}
	return ""
}

// Hints lists the hints that fit where the learner stands: those of the beat's
// first open goal whose condition holds.
func (s *Session) Hints(step *Step) []*Hint {
	st := s.b.Live()
	for _, g := range step.Goals {
		if s.Met(g) {
			continue
		}
		var fit []*Hint
		for _, h := range g.Hints {
			if h.when == nil || s.holds(h.when, st, st.Event) {
				fit = append(fit, h)
			}
		}
		return fit
	}
	return nil
}
