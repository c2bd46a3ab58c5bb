package lessons

import (
	"io/fs"
	"slices"

	"kviz/cluster/trace"
)

// Recordings are where a [Player] has recordings of lessons from, so that a beat is seen before there is a cluster that
// stands there, and where it leaves the run that was taken.
type Recordings interface {
	// Recording is one of a lesson that goes on to the end of a beat; [fs.ErrNotExist] where there is none.
	Recording(l *Lesson, beat int) ([]*trace.Event, *Marks, error)
	// Keep keeps a run of a lesson, as far as its marks go.
	Keep(l *Lesson, marks Marks, run *trace.Stream) error
}

// Records gives the player recordings; without them it shows nothing until a scene is set.
func (p *Player) Records(r Recordings) { p.recordings = r }

// recorded is a beat that a recording shows while a cluster is on its way there.
type recorded struct {
	lesson *Lesson
	step   int
	look   *Look // nil until it was read, and where there is no recording
}

// Await shows the beat at which a lesson will begin, as soon as it is read, while the cluster boots.
func (p *Player) Await(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at, err := p.place(id); err == nil && p.lesson == nil {
		p.foresee(at.lesson, at.step)
	}
}

// foresee reads a beat of a recording in the background, unless that was done. The lock is held.
func (p *Player) foresee(l *Lesson, step int) {
	if r := p.recorded; p.recordings == nil || r != nil && r.lesson == l && r.step == step {
		return
	}
	r := &recorded{lesson: l, step: step}
	p.recorded = r
	go func() {
		events, marks, err := p.recordings.Recording(l, step)
		if err != nil { // there is none, or it is of no use: the scene is set all the same
			return
		}
		look, err := l.Recorded(events, marks, step)
		if err != nil {
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		r.look = &look
	}()
}

// foreseen is what a recording shows now; ok where there is one.
func (p *Player) foreseen() (look Look, ok bool) {
	if p.recorded == nil || p.recorded.look == nil {
		return Look{}, false
	}
	return *p.recorded.look, true
}

// recordedVersion is that of what a recording shows; attempts on a cluster do not come so far.
const recordedVersion = 1 << 40

// Recorded is what a recording shows of a beat: where it stands, or where it begins if something is to be done
// there. Nothing can be done in it.
func (l *Lesson) Recorded(events []*trace.Event, marks *Marks, beat int) (look Look, err error) {
	r, err := l.rerun(events, marks)
	if err != nil {
		return Look{}, err
	}
	for i := range beat {
		if err := r.through(); err != nil {
			return Look{}, err
		}
		r.Enter(i + 1)
	}
	if step, _ := r.Beat(); !step.Acts() {
		if err := r.through(); err != nil {
			return Look{}, err
		}
		if !r.Span(beat).Stopped { // it was left before
			return Look{}, fs.ErrNotExist
		}
	}
	r.history.CatchUp(0)
	begins(r.Attempt, 1, recordedVersion).look(&look, 0)
	look.Active, look.Setting, look.ID, look.Title, look.Recorded = true, true, l.ID, l.Title, r.history
	look.CanNext, look.Finished = false, false
	b := look.Beat
	b.Runs, b.Offer, b.Offers, b.Typed, b.AskSure, b.Point, b.Late = false, "", 0, false, false, "", false
	return look, nil
}

// marks are where the beats of an attempt are in its run; ok where it went through all of them from the first.
func (a *Attempt) marks() (m Marks, ok bool) {
	if len(a.ends) != a.at {
		return Marks{}, false
	}
	m.Start = a.first
	for i, at := range append(slices.Clone(a.ends), a.stream.Len()) {
		m.Beats = append(m.Beats, BeatMade{a.Lesson.Steps[i].ID, at})
	}
	return m, true
}

// keepRun leaves the run that the learner has taken where the next start finds it. A run that cannot be kept costs them
// nothing but that. The lock is held.
func (p *Player) keepRun() {
	if p.recordings == nil || p.beats == nil || p.recalling != nil {
		return
	}
	if m, ok := p.beats.marks(); ok {
		_ = p.recordings.Keep(p.lesson, m, p.beats.stream)
	}
}
