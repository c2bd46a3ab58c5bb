package lessons

// SetMark notes progress, as a player does.
func SetMark(p *Progress, id string, m Mark) error {
	p.Lessons[id] = m
	return p.write()
}

// Finish notes that a lesson is done, Answer what a prediction of it was worth, Recalled what one
// was that came back.
func Finish(p *Progress, l *Lesson) error { return p.done(l) }

func Answer(p *Progress, lesson, beat string, right bool, sure int) error {
	return p.beat(lesson, beat, func(m *BeatMark) { m.Right, m.Sure = &right, sure })
}

func Recalled(p *Progress, d Due, l *Lesson, right bool, sure int) error {
	return p.recalled(d, l.waits(d.Beat), right, sure)
}

// Wait waits until the scripts that the player has begun have ended.
func (p *Player) Wait() {
	p.mu.Lock()
	ended := p.ended
	p.mu.Unlock()
	<-ended
}
