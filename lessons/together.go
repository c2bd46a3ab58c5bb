package lessons

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kviz/cluster/view"
)

// A lesson that several take together has one player, whose run all of them see. Their answers are not the player's:
// each of them is kept by the class, and the lesson is looked at as if the player had given it.

// Answer is somebody's answer to a beat's question, as it was given on the screen: parts count what stands there, from 0.
// It is whole once [Player.Whole] says so.
type Answer struct {
	Said
	Sure int `json:"sure,omitempty"` // 1 guess, 2 thinks so, 3 sure; 0 not said
}

// LookAs is the lesson as somebody sees it who gave these answers, by beat, and none of the player's.
func (p *Player) LookAs(given map[string]Answer) Look {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lesson == nil {
		return Look{}
	}
	if p.beats == nil {
		return p.lookBeat()
	}
	look := Look{Active: true, Title: p.lesson.Title, ID: p.lesson.ID, Steps: len(p.lesson.Steps), Wrong: p.wrong, Card: p.card}
	p.beats.as(given).look(&look, p.hint)
	return look
}

// as is where the learner is, with other answers. It shares what does not change and must not be brought on.
func (p *playing) as(given map[string]Answer) *playing {
	a, s := *p.Attempt, *p.Session
	a.Session = &s
	s.answers, s.numbers, s.given = map[string]int{}, map[string]float64{}, map[string][]int{}
	s.pointed, s.among, s.sure = map[string]string{}, map[string][]string{}, map[string]int{}
	s.told = maps.Clone(s.told)
	other := *p
	other.Attempt, other.tells, other.silent = &a, map[string]int{}, map[string]bool{}
	for i, step := range p.Lesson.Steps[:p.at+1] {
		answer, ok := given[step.ID]
		if step.Question == nil || !ok {
			continue
		}
		s.gives(step, answer)
		if s.said(step) == nil {
			continue
		}
		if beat, known := p.tells[step.ID]; known {
			other.tells[step.ID] = max(beat, i)
		}
	}
	return &other
}

// gives gives a step's question an answer as it stands on the screen, which need not be whole.
func (s *Session) gives(step *Step, a Answer) {
	q, laid := step.Question, s.layout(step)
	if !q.InParts() {
		said := a.Said
		said.Of = q.written // it was given on the screen that stands here now
		if q.Form() == OneOf && len(said.Parts) == 1 && said.Parts[0] >= 0 && said.Parts[0] < len(laid.answers) {
			said.Parts = []int{laid.answers[said.Parts[0]]}
		}
		s.says(step, &said, a.Sure)
		return
	}
	want, _ := q.parts()
	for _, n := range a.Parts {
		if n < 0 || n >= len(laid.answers) || len(s.given[step.ID]) == want {
			return
		}
		s.given[step.ID] = append(slices.Clip(s.given[step.ID]), laid.answers[n])
	}
	s.sure[step.ID] = a.Sure
}

// Whole reports whether an answer to a beat's question says all that is asked, and nothing that cannot be said.
func (p *Player) Whole(beat string, a Answer) bool {
	_, step, s := p.answered(beat, a)
	return step != nil && s.said(step) != nil
}

// Right reports whether an answer to a beat's question is right, once the run has shown it.
func (p *Player) Right(beat string, a Answer) (right, known bool) {
	b, step, s := p.answered(beat, a)
	if step == nil || s.said(step) == nil {
		return false, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known = b.tells[step.ID]; !known {
		return false, false
	}
	return b.right(step), true
}

// Words are an answer to a beat's question in words: those of a choice, a number with its unit, what is pointed at, or
// its parts in order.
func (p *Player) Words(beat string, a Answer) string {
	b, step, s := p.answered(beat, a)
	if step == nil || s.said(step) == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch q := step.Question; q.Form() {
	case OneOf:
		return b.fill(step, q.Choices[s.answers[step.ID]].Text)
	case Count:
		return q.Number.unit(s.numbers[step.ID])
	case Point:
		return called(s.pointed[step.ID])
	case Order:
		var all []string
		for _, n := range s.given[step.ID] {
			all = append(all, q.Cards[n].Text)
		}
		return strings.Join(all, ", then ")
	default:
		var all []string
		for i, n := range s.parts(step) {
			all = append(all, q.Items[i].Text+": "+q.Labels[n].Text)
		}
		return strings.Join(all, "; ")
	}
}

// Help is which help a learner has taken in a beat.
type Help struct {
	Hints, Undone int
	Shown         int // goals that kviz met
}

// Helped is which help the learner has taken in this lesson, by beat; beats without any are left out.
func (p *Player) Helped() map[string]Help {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[string]Help{}
	if p.beats == nil {
		return all
	}
	marks := p.progress.Lessons[p.lesson.ID].Beats
	for _, step := range p.lesson.Steps[:p.beats.at+1] {
		m := marks[step.ID]
		h := Help{Hints: m.Hints, Undone: m.Undone}
		for _, g := range step.Goals {
			if m.Goals[g.ID] == goalShown || p.beats.helped[step.ID] && !g.Never() {
				h.Shown++
			}
		}
		if h != (Help{}) {
			all[step.ID] = h
		}
	}
	return all
}

// HintsOf are all that a beat has to say to those who are stuck in it, as the names are now; none of a beat to which the
// lesson has not come.
func (p *Player) HintsOf(beat string) (all []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.beats == nil {
		return nil
	}
	for _, step := range p.lesson.Steps[:p.beats.at+1] {
		if step.ID != beat {
			continue
		}
		for _, g := range step.Goals {
			for _, h := range g.Hints {
				all = append(all, p.beats.fill(step, h.Text))
			}
		}
	}
	return all
}

// answered is the lesson with one answer; no step where the lesson has no such question, or has not come to it.
func (p *Player) answered(beat string, a Answer) (*playing, *Step, *Session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.beats == nil {
		return nil, nil, nil
	}
	for _, step := range p.lesson.Steps[:p.beats.at+1] {
		if step.ID == beat && step.Question != nil {
			b := p.beats.as(map[string]Answer{beat: a})
			return b, step, b.Session
		}
	}
	return nil, nil, nil
}

// Branch is a player of its own on another cluster, in which the run was run again: at the same beat, with a progress of
// its own. This player goes on as it is.
func (p *Player) Branch(c Cluster, progress *Progress) (*Player, error) {
	h := view.NewHistory(c.Trace())
	h.CatchUp(0)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.beats == nil {
		return nil, errors.New("no lesson in beats is under way")
	}
	a, err := p.beats.again(c.Trace(), h)
	if err != nil {
		return nil, fmt.Errorf("lesson %s cannot go on there: %w", p.lesson.ID, err)
	}
	other := NewPlayer(c, p.lessons, progress)
	other.progress.Seed = p.progress.Seed // what is asked stands in the same order
	other.lesson, other.step, other.attempt = p.lesson, a.at, 1
	other.since = other.progress.now()
	if err := other.enter(); err != nil {
		return nil, err
	}
	other.beats = begins(a, p.beats.base, 1)
	for id, beat := range p.beats.tells {
		if beat < a.at {
			other.beats.tells[id], other.beats.noted[id] = beat, true
		}
	}
	return other, nil
}
