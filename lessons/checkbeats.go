package lessons

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"kviz/cluster/view"
)

// staged boots a cluster, sets the lesson's scene and begins an attempt.
func (l *Lesson) staged(ctx context.Context, boot Boot) (r *recipe, end func() error, err error) {
	c, closer, err := boot()
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "kviz-lesson-")
	if err != nil {
		return nil, nil, errors.Join(err, closer.Close())
	}
	end = func() error { return errors.Join(closer.Close(), os.RemoveAll(dir)) }
	c.Stand(dir)
	c = l.on(c, dir)
	if err := errors.Join(c.Resume(), c.Speed(quick)); err != nil {
		return nil, nil, errors.Join(err, end())
	}
	if out, exit := perform(ctx, c, l.setup(), "setup.sh"); exit != 0 {
		return nil, nil, errors.Join(fmt.Errorf("setup.sh ended with exit status %d:\n%s", exit, out), end())
	}
	_ = c.Pause() // an attempt that cannot be paused fails as its stops pass by
	h := view.NewHistory(c.Trace())
	h.CatchUp(0)
	a := NewAttempt(l, h.Latest(), c.Trace(), h.Len())
	return &recipe{c: c, a: a, fast: true, look: func() { a.catchUp(c) }}, end, nil
}

// catchUp judges all that has happened. A cluster at full speed may do more than can be judged
// in the time: then it goes slowest until all is judged. It is not paused, as a script's command
// that began meanwhile would be refused.
func (a *Attempt) catchUp(c Cluster) {
	for range 8 {
		if !a.Look() {
			return
		}
	}
	if clock := c.Clock(); !clock.Paused {
		_ = c.Speed(slowest) // if it cannot be slowed, what is let go before it is judged ends the attempt
		defer func() { _ = c.Speed(clock.Speed) }()
	}
	for a.failed == nil && a.Look() {
	}
}

// slowest is the lowest speed that a cluster takes.
const slowest = 0.001

// setup is the script that sets the scene, with what is pinned.
func (l *Lesson) setup() string {
	script := l.Setup
	for _, p := range l.Pins {
		script += fmt.Sprintf("\n%s\nkviz wait --timeout 60s '%s'\n", p.By, p.Is)
	}
	return l.script(script)
}

// prove goes through the lesson by its offers, and gives what its questions for a number came to. rest is how long the
// cluster runs on between two commands of a beat.
func (l *Lesson) prove(ctx context.Context, boot Boot, screen Screen, rest time.Duration) (answers map[string]float64, err error) {
	r, end, err := l.staged(ctx, boot)
	if err != nil {
		return nil, err
	}
	r.rest = rest
	defer func() { err = errors.Join(err, end()) }()
	var wrong []error
	h := view.NewHistory(r.c.Trace())
	revealed, plays := map[string]bool{}, time.Duration(0)
	for i, step := range l.Steps {
		bad := func(format string, args ...any) {
			wrong = append(wrong, l.shown(step, fmt.Errorf("beat %q: "+format, append([]any{step.ID}, args...)...)))
		}
		if len(step.Goals) > 0 && step.Acts() && r.a.Passed(step) {
			bad("its goals are met before anything is done")
		}
		if err := r.through(ctx); err != nil {
			return nil, errors.Join(append(wrong, l.shown(step, err))...)
		}
		if _, _, whole := r.a.Caption(i); !whole && step.Kind != Free {
			before, after, _ := r.a.Caption(i)
			bad("a value of its caption is not known where it stands: %s", strings.TrimSpace(before+" / "+after))
		}
		if r.a.Span(i).end != nil && !r.a.Claim(i) {
			bad("its claim does not hold at #%s", r.a.Span(i).end.Last)
		}
		if screen != nil {
			h.CatchUp(0)
			look := r.a.shows(i, revealed)
			lasts, err := screen.Prove(look, h)
			if err != nil {
				bad("%w", err)
			}
			plays += lasts
			if look.Beat.Point != "" {
				r.a.pointAmong(step, screen.Cells(look, h))
			}
		}
		if i+1 < len(l.Steps) {
			r.a.Enter(i + 1)
		}
	}
	if plays > 0 { // it was seen on a screen
		wrong = append(wrong, l.paced(l.takes(plays)))
	}
	return r.a.computed(), errors.Join(append(wrong, r.a.predicted())...)
}

// reveals are the predictions that have been answered where the attempt stands and not before.
func (a *Attempt) reveals(before map[string]bool) (now []*Step) {
	for _, step := range a.Lesson.Steps[:a.at+1] {
		if _, told := a.told[step.ID]; told && !before[step.ID] && a.revealedHere(step) {
			before[step.ID] = true
			now = append(now, step)
		}
	}
	return now
}

// predicted holds the marked answers against what the simulation did.
func (a *Attempt) predicted() error {
	var wrong []error
	for _, step := range a.Lesson.Steps {
		q := step.Question
		bad := func(err error) { wrong = append(wrong, a.Lesson.shown(step, fmt.Errorf("beat %q: %w", step.ID, err))) }
		switch {
		case q == nil:
		case q.Form() == Order, q.Form() == Match:
			if err := a.provedParts(step); err != nil {
				bad(err)
			}
		case q.Form() == Point:
			if err := a.provedPoint(step); err != nil {
				wrong = append(wrong, err)
			}
		case q.Quiz():
		default:
			v, told := a.told[step.ID]
			if !told {
				bad(errors.New("the moment that reveals the answer never came"))
				continue
			}
			for i, c := range q.Choices {
				if v.holds[i] != c.Right && !q.Varies {
					bad(fmt.Errorf("%q is marked right=%v, but at #%s the simulation says %v", c.Text, c.Right, v.at, v.holds[i]))
				}
			}
		}
	}
	return errors.Join(wrong...)
}

// provedParts holds a marked order or marked labels against what happened.
func (a *Attempt) provedParts(step *Step) error {
	q := step.Question
	for i, f := range a.facts[step.ID] {
		told := q.Form() == Order && q.Cards[i].is != nil || q.Form() == Match && q.Items[i].when != nil
		switch {
		case !told:
		case f.at.IsZero():
			return fmt.Errorf("part %d of the question never happened", i+1)
		case q.Form() == Match && !f.labels[q.Items[i].label]:
			return fmt.Errorf("%q is marked %q, but at #%s the simulation says no", q.Items[i].Text, q.Labels[q.Items[i].label].Text, f.at)
		}
	}
	want, _ := q.parts()
	marked := make([]int, want)
	for i := range marked {
		marked[i] = i
		if q.Form() == Match {
			marked[i] = q.Items[i].label
		}
	}
	if right := a.truth(step); !slices.Equal(right, marked) && !q.Varies {
		return fmt.Errorf("the marked answer is %v, what happened is %v", marked, right)
	}
	return nil
}

// instead brings an attempt to the beat that a script's name begins with, and runs the script
// in the place of the beat's offers.
func (l *Lesson) instead(ctx context.Context, boot Boot, name, script string, passes bool) (err error) {
	beat := l.beatOf(name)
	if beat < 0 {
		return fmt.Errorf("there is no beat for %q: a script is called BEAT.name.sh", name)
	}
	id := l.Steps[beat].ID
	r, end, err := l.staged(ctx, boot)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	if err := r.to(ctx, beat); err != nil {
		return err
	}
	step := l.Steps[beat]
	defer func() {
		if err != nil {
			err = l.shown(step, err)
		}
	}()
	back, err := r.pace(step)
	if err != nil {
		return err
	}
	defer back()
	if err := r.named(ctx); err != nil {
		return err
	}
	for name, v := range r.a.values { // what the lesson has given a name, a script has as $name
		script = fmt.Sprintf("%s='%s'\n", name, strings.ReplaceAll(v.Text(), "'", `'"'"'`)) + script
	}
	type ended struct{}
	done, out := make(chan ended), ""
	go func() { defer close(done); out, _ = perform(ctx, r.c, l.script(script), name) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		case <-time.After(looking):
		}
		r.look()
	}
	wait := patience
	if !passes {
		wait = missWait
		if err := r.c.Speed(quick); err != nil {
			return err
		}
	}
	late := errors.New("late")
	err = r.until(ctx, wait, func() bool { return r.a.Passed(step) && noMistake(r.a) }, func() error { return late })
	switch {
	case passes && err != nil:
		return fmt.Errorf("it does not meet the goals of beat %q (%w; open: %s):\n%s", id, err, r.open(step), out)
	case !passes && err == nil:
		return fmt.Errorf("it meets the goals of beat %q, but must not", id)
	case !passes && !errors.Is(err, late):
		return err
	case !passes:
		return r.a.noticed(script)
	}
	return nil
}

// missWait is the time of the members of the store in which a near-miss must not come to meet the
// goals: that of some elections. In the cluster it is a minute, more than what holds, backs off
// or times out in a lesson takes.
const missWait = 1500 * time.Millisecond

func noMistake(a *Attempt) bool { g, _, _ := a.Mistake(); return g == nil }

// noticed holds what a near-miss says the learner reads ("# miss: GOAL: WORDS") against what is
// said.
func (a *Attempt) noticed(script string) error {
	want := ""
	for line := range strings.Lines(script) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "# miss: "); ok {
			want = text
			break
		}
	}
	if want == "" {
		return nil
	}
	g, words, _ := a.Mistake()
	if g == nil {
		g, words, _ = a.Nearest()
	}
	if g == nil {
		return fmt.Errorf("nothing is noticed; it says %q", want)
	}
	if got := g.ID + ": " + words; got != want {
		return fmt.Errorf("what is noticed is %q; it says %q", got, want)
	}
	return nil
}
