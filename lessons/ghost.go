package lessons

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kviz/cluster/trace"
)

// Ghost is what an answer says of cells of the picture. It stands beside what is so, from the
// answer to the end of the beat that reveals it: so the learner sees the difference.
type Ghost struct {
	At   *Text // the cells, "store:member/a"; a * stands for any part of a name
	Says *Text // nil for a number, a card and an item: what they were given says itself
}

// ghosts reads what an answer says of which cells.
func (r reader) ghosts(written map[string]string) (all []*Ghost, err error) {
	for _, name := range slices.Sorted(maps.Keys(written)) {
		g := &Ghost{}
		if g.At, err = r.cellName(name); err != nil {
			return nil, err
		}
		if written[name] == "" {
			return nil, fmt.Errorf("%q: it says what the learner expects there", name)
		}
		if g.Says, err = r.text(written[name], r.names); err != nil {
			return nil, err
		}
		all = append(all, g)
	}
	return all, nil
}

// ghostsAt reads the cells at which stands what was given; told says that the simulation answers.
func (r reader) ghostsAt(names []string, told bool) (all []*Ghost, err error) {
	for _, name := range names {
		at, err := r.cellName(name)
		if err != nil {
			return nil, err
		}
		all = append(all, &Ghost{At: at})
	}
	if len(all) > 0 && !told {
		return nil, errNoGhost
	}
	return all, nil
}

// cellName reads a name of cells of a pane.
func (r reader) cellName(name string) (*Text, error) {
	if pane, rest, ok := strings.Cut(name, ":"); !ok || pane == "" || rest == "" {
		return nil, fmt.Errorf("%q is no name of cells: want PANE:NAME, such as store:member/a", name)
	}
	return r.text(name, r.names)
}

var errNoGhost = errors.New("a ghost stands beside what the simulation does: it needs reveal")

// GhostLook is a ghost as the stage shows it.
type GhostLook struct {
	At, Says string
	Answer   int // of which answer, from 0
}

// ghostsOf are the ghosts of an answer to a beat's question, as names are on the stage.
func (p *playing) ghostsOf(step *Step, answer int) (all []GhostLook) {
	q := step.Question
	var from []*Ghost
	given := p.parts(step)
	if q.InParts() && given == nil { // of the check, which answers nothing
		given = p.truth(step)
	}
	part := func(ghosts []*Ghost, says string) {
		for _, g := range ghosts {
			if at, known := p.At(p.shown, g.At); known {
				all = append(all, GhostLook{At: at, Says: says})
			}
		}
	}
	switch q.Form() {
	case Order:
		for i, n := range given {
			part(q.Cards[n].Ghosts, fmt.Sprintf("place %d", i+1))
		}
	case Match:
		for i, item := range q.Items {
			part(item.Ghosts, q.Labels[given[i]].Text)
		}
	case OneOf:
		from = q.Choices[answer].Ghosts
	case Count:
		from = q.Number.Ghosts
	case Point:
		at, known := p.At(p.shown, q.Point.At)
		if name := p.pointed[step.ID]; known && name != "" {
			pane, _, _ := strings.Cut(at, ":")
			all = append(all, GhostLook{At: pane + ":" + name})
		}
	}
	for _, g := range from {
		look := GhostLook{Answer: answer}
		at, known := p.At(p.shown, g.At)
		if !known {
			continue
		}
		if look.At = at; g.Says != nil {
			look.Says, _ = p.At(p.shown, g.Says)
		} else {
			look.Says = q.Number.unit(p.numbers[step.ID])
		}
		all = append(all, look)
	}
	return all
}

// lookGhosts shows what was expected, of the questions that are open on the stage and of the one
// that it answers.
func (p *playing) lookGhosts(b *BeatLook) {
	for i, step := range p.Lesson.Steps[:p.shown+1] {
		if beat, known := p.tells[step.ID]; step.Question == nil || known && beat < p.shown {
			continue
		}
		var mine []GhostLook
		if n, ok := p.answers[step.ID]; ok {
			mine = p.ghostsOf(step, n)
		} else if p.said(step) != nil {
			mine = p.ghostsOf(step, 0)
		}
		if len(mine) > 0 {
			b.Ghosts, b.Frozen = append(b.Ghosts, mine...), p.frozen(i)
		}
	}
}

// frozen is the event at which a beat's question was asked: nothing happens until it is answered.
func (p *playing) frozen(beat int) trace.ID {
	span := p.Span(beat)
	if span.end != nil {
		return span.end.Last
	}
	return span.start.Last
}

// everyGhost shows the ghosts of every answer to the questions that a beat reveals, wrong ones
// first: for the check, which draws each of them.
func (p *playing) everyGhost(b *BeatLook, revealed []*Step) {
	all := b.Ghosts
	defer func() { b.Ghosts = all }()
	for _, step := range revealed {
		b.Frozen = p.frozen(slices.Index(p.Lesson.Steps, step))
		q := step.Question
		if q.Form() != OneOf {
			all = append(all, p.ghostsOf(step, 0)...)
			continue
		}
		for _, right := range []bool{false, true} {
			for i := range q.Choices {
				if p.came(step, i) == right {
					all = append(all, p.ghostsOf(step, i)...)
				}
			}
		}
	}
}
