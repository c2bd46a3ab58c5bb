package lessons

import (
	"slices"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// EndCard is what a run of a lesson in beats came to.
type EndCard struct {
	Events             []CardEvent // where goals and predictions fell, in their order
	Predictions, Right int
	SureWrong          []string // the beats whose prediction was sure and wrong
	Goals, Met         int
	Hints, Shown       int // Shown are goals that kviz met
	Undone             int
	Took, Planned      time.Duration
	Teaches            []string
	Again              string // the day when its first question comes back, "" for none
	Questions          int    // that come back then
	Next               []Info // lessons that need this one, or come after it
}

// CardEvent is one event of a run that mattered.
type CardEvent struct {
	ID  trace.ID
	Say string
}

// cardEvents is how many events a card has at most.
const cardEvents = 8

// endCard is what the attempt under way came to. The lock is held.
func (p *Player) endCard() *EndCard {
	l, mark := p.lesson, p.progress.Lessons[p.lesson.ID]
	c := &EndCard{Events: p.beats.mattered(), Planned: time.Duration(l.Minutes) * time.Minute, Teaches: l.Teaches}
	c.Next = p.after(l)
	if p.ahead {
		c.Planned = 0
		return c
	}
	for _, step := range l.Steps {
		b := mark.Beats[step.ID]
		c.Hints, c.Undone, c.Took = c.Hints+b.Hints, c.Undone+b.Undone, c.Took+time.Duration(b.Seconds)*time.Second
		for _, g := range step.Goals {
			if g.Optional {
				continue
			}
			c.Goals++
			switch b.Goals[g.ID] {
			case goalShown:
				c.Shown++
			case goalDone:
				c.Met++
			}
		}
		if b.Right == nil {
			continue
		}
		c.Predictions++
		if *b.Right {
			c.Right++
		} else if b.Sure == 3 {
			c.SureWrong = append(c.SureWrong, step.Title)
		}
	}
	for _, d := range p.progress.Recall {
		switch {
		case d.Lesson != l.ID:
		case c.Again == "" || d.On < c.Again:
			c.Again, c.Questions = d.On, 1
		case d.On == c.Again:
			c.Questions++
		}
	}
	return c
}

// after are the lessons that somebody takes next who has done one: those that need it, then the
// next in the list.
func (p *Player) after(l *Lesson) (next []Info) {
	at := slices.Index(p.ids(), l.ID)
	list := p.list()
	for i, other := range p.lessons {
		if slices.Contains(other.Needs, l.ID) && !list[i].Done && list[i].Locked == "" {
			next = append(next, list[i])
		}
	}
	for n := 1; n < len(list) && len(next) < 2; n++ { // round to the first again
		i := (at + n) % len(list)
		if !list[i].Done && !slices.ContainsFunc(next, func(n Info) bool { return n.ID == list[i].ID }) {
			next = append(next, list[i])
		}
	}
	return next[:min(len(next), 2)]
}

// mattered are the events at which goals were met and predictions answered; where there are few
// of them, those where beats stood too.
func (p *playing) mattered() []CardEvent {
	type candidate struct {
		id     trace.ID
		weight int
	}
	var all []candidate
	add := func(id trace.ID, weight int) {
		if id.IsZero() {
			return
		}
		if i := slices.IndexFunc(all, func(c candidate) bool { return c.id == id }); i >= 0 {
			all[i].weight = max(all[i].weight, weight)
			return
		}
		all = append(all, candidate{id, weight})
	}
	for i, step := range p.Lesson.Steps {
		for _, g := range step.Goals {
			if g.Edge() {
				add(p.MetAt(g), 3)
			}
		}
		if v, told := p.told[step.ID]; told {
			add(v.at, 2)
		}
		if i < len(p.spans) && step.Kind == See && step.Stage.Stop != nil && p.spans[i].end != nil {
			add(p.spans[i].end.Event.ID, 1)
		}
	}
	for weight := 1; len(all) > cardEvents && weight <= 3; weight++ { // what matters least makes room, the latest first
		for i := len(all) - 1; i >= 0 && len(all) > cardEvents; i-- {
			if all[i].weight == weight {
				all = slices.Delete(all, i, i+1)
			}
		}
	}
	slices.SortFunc(all, func(a, b candidate) int { return a.id.Compare(b.id) })
	var events []CardEvent
	for _, c := range all {
		if e, _, ok := p.stream.At(c.id); ok {
			events = append(events, CardEvent{ID: c.id, Say: view.Explain(e)})
		}
	}
	return events
}

// What became of a goal.
const (
	goalDone  = "done"
	goalShown = "shown"
)

// keep notes in the learner's progress what is new in a look. The lock is held.
func (p *Player) keep(look *Look) error {
	b := p.beats
	if err := p.keepAnswers(); err != nil {
		return err
	}
	if p.recalling != nil || p.ahead {
		return nil
	}
	if err := p.progress.left(p.lesson.ID, p.lesson.Steps[b.at].ID); err != nil {
		return err
	}
	if !look.Finished {
		return nil
	}
	return p.progress.done(p.lesson)
}

// keepAnswers notes what predictions were worth whose answers are known now.
func (p *Player) keepAnswers() error {
	b := p.beats
	if p.ahead {
		return nil
	}
	for _, step := range p.lesson.Steps[:b.at+1] {
		if _, told := b.tells[step.ID]; !told || b.noted[step.ID] {
			continue
		}
		b.noted[step.ID] = true
		right, sure := b.right(step), b.sure[step.ID]
		if p.recalling != nil {
			if err := p.recalling.answered(p, step, right, sure); err != nil {
				return err
			}
			continue
		}
		if err := p.progress.beat(p.lesson.ID, step.ID, func(m *BeatMark) { m.Right, m.Sure = &right, sure }); err != nil {
			return err
		}
	}
	return nil
}

// right reports whether a question was answered as the simulation did.
func (p *playing) right(step *Step) bool {
	switch q := step.Question; q.Form() {
	case Order, Match:
		return p.Settled(step)
	case Count:
		ok, _ := q.Number.takes(p.numbers[step.ID], p.told[step.ID].right)
		return ok
	case Point:
		return p.told[step.ID].cells[p.pointed[step.ID]]
	default:
		return p.came(step, p.Answered(step))
	}
}

// keepBeat notes what was done in a beat that is left.
func (p *Player) keepBeat(beat int) error {
	if p.recalling != nil || p.ahead {
		return nil
	}
	b, step := p.beats, p.lesson.Steps[beat]
	took := int(p.progress.now().Sub(p.since).Round(time.Second) / time.Second)
	return p.progress.beat(p.lesson.ID, step.ID, func(m *BeatMark) {
		m.Seconds += took
		m.Shown = m.Shown || b.Session.shown[step.ID] || b.helped[step.ID]
		for _, g := range step.Goals {
			became := ""
			switch {
			case b.helped[step.ID] && !g.Never(), b.Session.shown[step.ID] && !b.reached(step):
				became = goalShown
			case b.Met(g) || b.reached(step) && !g.Optional:
				became = goalDone
			}
			if became == "" || m.Goals[g.ID] == goalDone {
				continue
			}
			if m.Goals == nil {
				m.Goals = map[string]string{}
			}
			m.Goals[g.ID] = became
		}
	})
}
