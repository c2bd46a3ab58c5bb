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
	kept    map[string]bool          // by step: answered right in an earlier sitting
	failed  error                    // an expression that could not be answered

	// Of a lesson in beats.
	at      int                // the beat that is under way; those after it are not judged
	values  expr.Values        // what names stand for
	numbers map[string]float64 // by step: the number answered
	sure    map[string]int     // by step: how sure the learner was, 1 to 3
	near    map[string]nearing // by goal: what came near to it last
	shown   map[string]bool    // steps that were shown instead of done
}

// verdict is what the simulation did about a prediction.
type verdict struct {
	at    trace.ID
	holds []bool  // for each choice, whether it came true
	right float64 // of a number: the answer
}

// NewSession begins an attempt at a state: that of the cluster when the scene
// was set.
func NewSession(l *Lesson, start *view.State) *Session {
	s := &Session{
		Lesson: l, b: view.From(start), met: map[string]trace.ID{}, broken: map[string]trace.ID{},
		since: map[string]time.Duration{}, passed: map[string]bool{}, answers: map[string]int{}, told: map[string]verdict{},
		given: map[string][]int{}, facts: map[string][]fact{}, kept: map[string]bool{},
		values: expr.Values{}, numbers: map[string]float64{}, sure: map[string]int{}, near: map[string]nearing{}, shown: map[string]bool{},
	}
	s.levels()
	return s
}

// Assume takes the steps before one for done: the learner did them in an
// earlier sitting, on a cluster that is gone.
func (s *Session) Assume(before int) {
	for _, step := range s.Lesson.Steps[:before] {
		for _, g := range step.Goals {
			if g.edge != nil {
				s.met[g.ID] = trace.ID{}
			}
		}
		if len(step.Goals) > 0 {
			s.passed[step.ID] = true
		}
		if step.Question != nil && step.Question.Form() != OneOf {
			s.kept[step.ID] = true
		}
	}
}

// Apply folds one event.
func (s *Session) Apply(e *trace.Event) {
	s.b.Apply(e)
	s.look(s.b.Live(), e)
}

// look judges an event that was folded.
func (s *Session) look(st *view.State, e *trace.Event) {
	for i, step := range s.Lesson.Steps {
		if s.Lesson.Format > 1 && i > s.at {
			break
		}
		if s.Lesson.Format == 1 || i == s.at {
			for _, g := range step.Goals {
				s.judge(g, st, e)
				s.miss(g, st, e)
			}
		}
		s.reveal(step, st, e)
		s.watch(step, st, e)
	}
	s.pass(st, e)
}

// answersAt notes what an event answers of what was asked up to the beat under way.
func (s *Session) answersAt(st *view.State, e *trace.Event) {
	for _, step := range s.Lesson.Steps[:s.at+1] {
		s.reveal(step, st, e)
		s.watch(step, st, e)
	}
}

// pass notes the steps whose goals are all met now. A step is passed after the
// ones before it: a level of a later step that holds from the beginning ("the
// quorum is whole") says nothing before the earlier steps are done.
func (s *Session) pass(st *view.State, e *trace.Event) {
	for i, step := range s.Lesson.Steps {
		if s.passed[step.ID] || len(step.Goals) == 0 {
			continue
		}
		if s.Lesson.Format > 1 && i != s.at {
			continue
		}
		for _, g := range step.Goals {
			if g.Optional {
				continue
			}
			if _, done := s.met[g.ID]; g.edge != nil && !done {
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
	st := s.b.Live()
	for i, step := range s.Lesson.Steps {
		if s.Lesson.Format == 1 || i == s.at {
			s.lasting(step, st)
		}
	}
	s.pass(st, st.Event)
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
	s.told[step.ID] = v
}

func (s *Session) holds(c *condition, st *view.State, e *trace.Event) bool {
	ok, err := c.holds(st, e, s.values)
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
// those of the steps before it.
func (s *Session) reached(step *Step) bool { return len(step.Goals) == 0 || s.passed[step.ID] }

// Unmet lists the goals that are still open. A level counts when its step was
// done once, except for those of the last step with goals, which must hold at the
// end.
func (s *Session) Unmet() []*Goal {
	var open []*Goal
	last := ""
	for _, step := range s.Lesson.Steps {
		if len(step.Goals) > 0 {
			last = step.ID
		}
	}
	for _, step := range s.Lesson.Steps {
		if s.reached(step) && step.ID != last {
			for _, g := range step.Goals { // what must never happen counts to the end
				if g.never != nil && !s.Met(g) {
					open = append(open, g)
				}
			}
			continue
		}
		before := len(open)
		for _, g := range step.Goals {
			if !s.Met(g) {
				open = append(open, g)
			}
		}
		if !s.reached(step) && before == 0 && len(open) == 0 {
			open = append(open, step.Goals...) // each was met, but never all together
		}
	}
	return open
}

// Solved reports whether no goal is open.
func (s *Session) Solved() bool { return len(s.Unmet()) == 0 }

// Answer chooses an answer to a step's question. A prediction that the
// simulation has already answered, and a quiz that was answered, stand. A
// question of order or match takes one part at a time, until all are right.
func (s *Session) Answer(step *Step, choice int) bool {
	q := step.Question
	if q == nil {
		return false
	}
	if q.Form() == Count {
		return false
	}
	if _, among := q.parts(); choice < 0 || choice >= among {
		return false
	}
	if q.Form() != OneOf {
		return s.put(step, choice)
	}
	if _, answered := s.answers[step.ID]; answered && (q.Quiz() || s.answered(step)) {
		return false
	}
	if _, frozen := s.answers[step.ID]; frozen && s.Lesson.Format > 1 {
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
	if step.Question.Form() == Count {
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
	if right {
		return "Right" + at + ". " + mine.Why
	}
	s1 := "No" + at + ". " + mine.Why
	for i, c := range q.Choices {
		came := c.Right
		if v, ok := s.told[step.ID]; ok {
			came = v.holds[i]
		}
		if came {
			s1 += " What happened: " + c.Text + ". " + c.Why
		}
	}
	return s1
}

// Hints lists the hints that fit where the learner stands: those of the step's
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
