package lessons

import (
	"fmt"
	"slices"

	"kviz/cluster/view"
)

// recallAtOnce is how many questions are asked in one sitting at most.
const recallAtOnce = 5

// recalling is a sitting in which questions of lessons that were done come back: each on the
// cluster as it then is, which is brought to the moment before it as a lesson is begun in its
// middle.
type recalling struct {
	asks  []Due
	at    int
	right int
	told  bool // what the question under way was worth is known
	later int  // due, and to be asked on another cluster
	over  bool
}

// RecallLook is how far such a sitting is.
type RecallLook struct {
	No, Of, Right int
	Told, Over    bool
	Later         int    // questions that are due and need another cluster
	Next          string // the day when the next question comes back, "" for none
}

// recall asks the questions that are due on this cluster.
func (p *Player) recall() error {
	h := view.NewHistory(p.cluster.Trace())
	h.CatchUp(0)
	members := len(h.Latest().Store.Members())
	p.mu.Lock()
	defer p.mu.Unlock()
	r := &recalling{}
	for _, d := range p.progress.Due() {
		l, step := p.find(d)
		switch {
		case l == nil: // the lesson, or the beat, is no more
			p.progress.drop(d.Lesson, d.Beat)
		case RecallScene(l, step.ID).Members != members || len(r.asks) == recallAtOnce:
			r.later++
		default:
			r.asks = append(r.asks, d)
		}
	}
	switch {
	case len(r.asks) == 0 && r.later > 0:
		return fmt.Errorf("of the questions that are due none is for a cluster of %d members: kviz lesson recall starts the right one", members)
	case len(r.asks) == 0:
		return fmt.Errorf("no question is due%s", p.nextDue(" before "))
	}
	p.recalling, p.ahead = r, false
	p.ask()
	return nil
}

// RecallScene is the cluster on which a question of a lesson comes back.
func RecallScene(l *Lesson, beat string) Scene {
	scene := l.Scene
	for _, r := range l.Recalls {
		if r.Beat == beat && r.With != nil && r.With.Members > 0 {
			scene.Members = r.With.Members
		}
	}
	if scene.Members == 0 {
		scene.Members = 3
	}
	return scene
}

// find is the lesson and the beat of a question, nil where they are no more.
func (p *Player) find(d Due) (*Lesson, *Step) { return FindDue(p.lessons, d) }

// FindDue is the lesson and the beat of a question, nil where they are no more.
func FindDue(all []*Lesson, d Due) (*Lesson, *Step) {
	i := slices.IndexFunc(all, func(l *Lesson) bool { return l.ID == d.Lesson })
	if i < 0 {
		return nil, nil
	}
	l, err := all[i].Whole()
	if err != nil {
		return nil, nil
	}
	i = slices.IndexFunc(l.Steps, func(s *Step) bool { return s.ID == d.Beat })
	if i < 0 {
		return nil, nil
	}
	return l, l.Steps[i]
}

// ask begins the question under way. The lock is held.
func (p *Player) ask() {
	r := p.recalling
	r.told = false
	l, step := p.find(r.asks[r.at])
	at := slices.Index(l.Steps, step)
	p.begin(l.comesBack(step, p.seed()), at)
}

// answered notes what the question under way was worth.
func (r *recalling) answered(p *Player, step *Step, right bool, sure int) error {
	d := r.asks[r.at]
	if d.Beat != step.ID || r.told {
		return nil
	}
	r.told = true
	if right {
		r.right++
	}
	return p.progress.recalled(d, p.lesson.waits(step.ID), right, sure)
}

// askNext goes on to the next question, or ends the sitting.
func (p *Player) askNext() error {
	r := p.recalling
	if r.over || r.at+1 == len(r.asks) {
		r.over = true
		return nil
	}
	r.at++
	p.ask()
	return nil
}

// look is how far the sitting is.
func (r *recalling) look(p *Player) *RecallLook {
	return &RecallLook{No: r.at + 1, Of: len(r.asks), Right: r.right, Told: r.told, Over: r.over, Later: r.later, Next: p.nextDue("")}
}

// nextDue is when the next question comes back, with words before it; "" where none does.
func (p *Player) nextDue(before string) string {
	next := ""
	for _, d := range p.progress.Recall {
		if today := p.progress.now().UTC().Format(day); d.On > today && (next == "" || d.On < next) {
			next = d.On
		}
	}
	if next == "" {
		return ""
	}
	return before + next
}
