package lessons

import "kviz/cluster/trace"

// SetMark notes progress, as a player does.
func SetMark(p *Progress, id string, m Mark) error {
	p.Lessons[id] = m
	return p.write()
}

// Finish notes that a lesson is done, Noted what a prediction of it was worth, Recalled what one
// was that came back.
func Finish(p *Progress, l *Lesson) error { return p.done(l) }

func Noted(p *Progress, lesson, beat string, right bool, sure int) error {
	return p.beat(lesson, beat, func(m *BeatMark) { m.Right, m.Sure = &right, sure })
}

func Recalled(p *Progress, d Due, l *Lesson, right bool, sure int) error {
	return p.recalled(d, l.waits(d.Beat), right, sure)
}

// Enter has a session judge a beat, as if those before it were over.
func Enter(s *Session, beat int) {
	s.at = beat
	s.levels()
}

// Wait waits until the scripts that the player has begun have ended.
func (p *Player) Wait() {
	p.mu.Lock()
	ended := p.ended
	p.mu.Unlock()
	<-ended
}

// Nears finds what an event comes near to, of the goals of a session's first beat.
func Nears(s *Session, e *trace.Event) {
	for _, g := range s.Lesson.Steps[0].Goals {
		s.nears(g, s.b.Live(), e)
	}
}

// Late is late.
var Late = late

// Shuffles gives a learner an order of answers, as a player does that begins a lesson.
func Shuffles(p *Progress) error { return p.shuffles() }

// SaidOf is the answer to a step's question as it is kept, Says gives a session one that was kept.
func SaidOf(s *Session, step *Step) *Said        { return s.said(step) }
func Says(s *Session, step *Step, a *Said) *Said { s.says(step, a, 0); return s.said(step) }

// Within is within.
var Within = within
