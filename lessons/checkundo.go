package lessons

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// Again runs a run again up to an event of it, and leaves it there.
type Again func(past []*trace.Event, at trace.ID) (Cluster, io.Closer, error)

// Undo proves that a mistake can be undone in every beat in which something is done: the lesson is
// begun there as a learner begins it, something else is broken than what the beat wants, that is
// undone, and from there the lesson comes to its end by what it offers. What is broken is drawn
// by a seed.
func (t *Trials) Undo(ctx context.Context, l *Lesson, boot Boot, again Again, seed uint64) error {
	var all []func() error
	for i, step := range l.Steps {
		if step.Kind == Do || step.Kind == Break {
			all = append(all, func() error {
				if err := l.undone(ctx, boot, again, i, rand.New(rand.NewPCG(seed, uint64(i)))); err != nil {
					return l.shown(step, fmt.Errorf("beat %q: %w", step.ID, err))
				}
				return nil
			})
		}
	}
	return t.run(l, all)
}

// undone breaks something at a beat, undoes it, and goes on to the end of the lesson.
func (l *Lesson) undone(ctx context.Context, boot Boot, again Again, beat int, chance *rand.Rand) (err error) {
	k, closer, err := l.begun(ctx, boot, beat)
	if err != nil {
		return err
	}
	open := []io.Closer{closer}
	defer func() {
		for _, closer := range slices.Backward(open) {
			err = errors.Join(err, closer.Close())
		}
	}()
	defer k.p.Close()
	line, err := k.breaks(l.Steps[beat], chance)
	if err != nil {
		return err
	}
	closer, err = k.undoes(again)
	if err == nil {
		open = append(open, closer)
	} else if other := k.anew(); other != nil {
		return fmt.Errorf("%q is not undone: %w; and the scene is not set again: %w", line, err, other)
	}
	if err := k.finishes(); err != nil {
		return fmt.Errorf("after %q and undo: %w", line, err)
	}
	return nil
}

// set waits until the scene is set and the beat reached.
func (k *keen) set() error {
	err := k.until(3*time.Minute, func(l Look) bool { return !l.Setting }, func(Look) error { return errors.New("it takes more than three minutes") })
	if look := k.p.Look(); err == nil && look.Beat == nil {
		return errors.New(look.Text)
	}
	return err
}

// anew sets the scene again, as the explorer does where a run cannot be run again: after an outage
// of the store, which takes its own time.
func (k *keen) anew() error {
	if err := errors.Join(k.c.Resume(), k.p.Do("again")); err != nil {
		return err
	}
	return k.set()
}

// undoes takes back what was done last, as the explorer does.
func (k *keen) undoes(again Again) (io.Closer, error) {
	at := k.p.Look().Beat.Undo
	if at.IsZero() {
		return nil, errors.New("nothing was done that could be")
	}
	if err := k.c.Pause(); err != nil {
		return nil, err
	}
	var past []*trace.Event
	for next := uint64(0); ; {
		events, after, lost := k.c.Trace().Read(next, batch)
		if lost > 0 {
			return nil, fmt.Errorf("%d events of the run have left memory", lost)
		}
		if len(events) == 0 {
			break
		}
		past, next = append(past, events...), after
	}
	c, closer, err := again(past, at)
	if err != nil {
		return nil, err
	}
	if err := k.p.Undone(c); err != nil {
		return nil, errors.Join(err, closer.Close())
	}
	k.c = c
	return closer, nil
}

// brisk is how many seconds pass in the cluster in one of the learner's, where a beat names no
// speed: as fast as everything that happens can be looked at.
const brisk = 10

// keen takes a lesson as a learner does who always does what is offered.
type keen struct {
	ctx context.Context
	c   Cluster
	p   *Player
}

// until looks at the lesson until something holds.
func (k *keen) until(within time.Duration, holds func(Look) bool, late func(Look) error) error {
	end := time.NewTimer(within)
	defer end.Stop()
	tick := time.NewTicker(looking)
	defer tick.Stop()
	for {
		look := k.p.Look()
		switch {
		case look.Trouble != "":
			return errors.New(look.Trouble)
		case holds(look):
			return nil
		}
		select {
		case <-k.ctx.Done():
			return context.Cause(k.ctx)
		case <-end.C:
			return late(look)
		case <-tick.C:
		}
	}
}

// breaks breaks something that the beat does not offer to break, and gives the command.
func (k *keen) breaks(step *Step, chance *rand.Rand) (string, error) {
	h := view.NewHistory(k.c.Trace())
	h.CatchUp(0)
	all := breakable(h.Latest())
	chance.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, line := range all {
		offered := slices.ContainsFunc(step.Offers, func(o Offer) bool {
			run, _ := k.p.beats.Now(o.Run)
			return strings.Contains(run, line)
		})
		if offered {
			continue
		}
		typed := k.types("", line, 0)
		err := k.until(patience, func(Look) bool { over, _ := typed.over(); return over }, func(Look) error { return fmt.Errorf("%q does not end", line) })
		if err != nil {
			return "", err
		}
		if _, refused := typed.over(); refused == nil {
			return line, nil
		}
	}
	return "", errors.New("nothing can be broken here")
}

// breakable are commands that break something, in a fixed order.
func breakable(s *view.State) (all []string) {
	for _, m := range s.Store.Members() {
		all = append(all, "kviz fault crash member/"+m.Name, "kviz fault cut member/"+m.Name)
	}
	for _, n := range s.Nodes() {
		all = append(all, "kviz fault stop kubelet/"+n.Name)
	}
	return append(all, "kviz fault crash scheduler", "kviz fault stop controller-manager", "kviz fault stop registry")
}

// command is a line of the console, and what came of it once it has ended.
type command struct {
	line, out  string
	exit, want int
	ended      chan struct{}
}

// types types a line into the console, after the functions that it may use.
func (k *keen) types(functions, line string, want int) *command {
	c := &command{line: line, want: want, ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		c.out, c.exit = perform(k.ctx, k.c, functions+line, "console")
	}()
	return c
}

// over reports whether a line has ended, and refuses one that ended otherwise than it should.
func (c *command) over() (bool, error) {
	select {
	case <-c.ended:
		if c.exit != c.want {
			return true, fmt.Errorf("%q ended with exit status %d, not %d:\n%s", c.line, c.exit, c.want, c.out)
		}
		return true, nil
	default:
		return false, nil
	}
}

// finishes goes on to the end of the lesson. Whoever has typed what a beat offers may go on to the
// next one while it still runs: a cluster that stands does not answer it.
func (k *keen) finishes() error {
	var running *command
	for {
		look := k.p.Look()
		step := k.p.lesson.Steps[look.Step-1]
		moved, err := k.moves(step, look, &running)
		if err == nil && look.Finished && running == nil {
			return nil
		}
		if err == nil && !moved {
			err = k.until(patience+step.Stage.Within, func(l Look) bool {
				over := false
				if running != nil {
					over, _ = running.over()
				}
				return over || l.CanNext != look.CanNext || l.Finished != look.Finished || l.Beat.Offer != look.Beat.Offer
			}, func(l Look) error { return fmt.Errorf("it does not go on: %s %s", l.Beat.Mistake, l.Beat.Miss) })
		}
		if err != nil {
			return fmt.Errorf("at beat %q: %w", step.ID, err)
		}
	}
}

// moves does the next thing that there is to do.
func (k *keen) moves(step *Step, look Look, running **command) (moved bool, err error) {
	if *running != nil {
		over, err := (*running).over()
		if err != nil {
			return false, err
		}
		if over {
			*running = nil
		}
	}
	switch {
	case look.Ask != "" && !look.Answered:
		return true, k.answers(look)
	case *running == nil && look.Beat.Offer != "" && !look.CanNext:
		*running = k.types(k.p.lesson.Words+"\n", look.Beat.Offer, step.Offers[look.Beat.OfferNo-1].Exit)
		return true, k.p.Do("offered")
	case look.CanNext && !look.Finished:
		return true, k.p.Do("next")
	}
	return false, nil
}

// answers gives the next part of an answer to what is asked: any.
func (k *keen) answers(look Look) error {
	if look.Beat.Typed {
		return k.p.Do("number 2")
	}
	if look.Beat.Point != "" {
		_, at, _ := strings.Cut(look.Beat.Point, ":")
		name := strings.Replace(at, "*", "a", 1)
		return k.p.Do("point " + name + " " + name)
	}
	for n, c := range look.Choices {
		if c.Place == 0 {
			return k.p.Do(fmt.Sprintf("answer %d", n+1))
		}
	}
	return errors.New("there is nothing to answer")
}
