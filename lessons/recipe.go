package lessons

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// recipe brings a cluster and an attempt through beats by what the beats offer: to prove a
// lesson, and to begin one where it was left.
type recipe struct {
	c    Cluster
	a    *Attempt
	look func()        // looks at the trace; [Attempt.Look] where nobody else does
	fast bool          // where a beat names no speed, [quick]
	rest time.Duration // of the cluster's time at its own pace before each further command of a beat
}

// quick is how many seconds pass in the cluster in one of the members' where nobody looks on. As fast
// as it can it would do minutes of what no lesson waits for, and all of it would be judged; and
// in a bubble of virtual time, which passes only while everything waits, the members would never
// come to an election.
const quick = 40

// patience is the real time in which the goals of a beat are met once its offers have run.
const patience = 30 * time.Second

// to goes on to a beat.
func (r *recipe) to(ctx context.Context, beat int) error {
	for _, at := r.a.Beat(); at < beat; _, at = r.a.Beat() {
		if err := r.through(ctx); err != nil {
			return err
		}
		r.a.Enter(at + 1)
	}
	return nil
}

// through brings the beat under way to its end.
func (r *recipe) through(ctx context.Context) error {
	step, at := r.a.Beat()
	back, err := r.pace(step)
	if err != nil {
		return err
	}
	defer back()
	if !step.Acts() {
		return r.shows(ctx, step, at)
	}
	if err := r.named(ctx); err != nil {
		return err
	}
	if err := r.offers(ctx, step); err != nil {
		return err
	}
	if step.Kind == Free {
		return nil
	}
	return r.until(ctx, patience, func() bool { return r.a.Passed(step) }, func() error {
		return fmt.Errorf("beat %q: its offers do not meet its goals; open: %s", step.ID, r.open(step))
	})
}

// named waits until the names that the beat gives have values.
func (r *recipe) named(ctx context.Context) error {
	return r.until(ctx, patience, r.a.bound, func() error { return r.a.unknown })
}

// open says which goals of a beat are not met, and how near it came.
func (r *recipe) open(step *Step) string {
	var open []string
	for _, g := range step.Goals {
		if !r.a.Met(g) && !g.Optional {
			open = append(open, g.ID)
		}
	}
	text := strings.Join(open, ", ")
	if _, miss, at := r.a.Nearest(); miss != "" {
		text += fmt.Sprintf("; nearest, at #%s: %s", at, miss)
	}
	return text
}

// shows runs the cluster until the beat stands. What it offers is for when that does not come
// by itself.
func (r *recipe) shows(ctx context.Context, step *Step, at int) error {
	stands := func() bool { return r.a.Span(at).Stopped }
	late := func() error {
		return fmt.Errorf("beat %q: its stop did not come within %s", step.ID, step.Stage.Within)
	}
	if len(step.Offers) > 0 {
		if r.until(ctx, step.Stage.Within/4, stands, late) == nil {
			return nil
		}
		if err := r.offers(ctx, step); err != nil {
			return err
		}
	}
	return r.until(ctx, step.Stage.Within, stands, late)
}

// pace has the cluster run at the beat's speed. The function that it returns has it stand, and
// puts the speed back.
func (r *recipe) pace(step *Step) (back func(), err error) {
	if !r.a.Runs() {
		return func() {}, nil
	}
	was := r.c.Clock().Speed
	x, err := step.Stage.speed()
	if err != nil {
		return nil, err
	}
	if r.fast && step.Stage.Run == "" {
		x = quick
	}
	if err := errors.Join(r.c.Speed(x), r.c.Resume()); err != nil {
		return nil, err
	}
	return func() {
		_ = r.c.Pause() // what they answer the next beat meets
		_ = r.c.Speed(was)
	}, nil
}

// offers runs the commands of a beat, one after another, as they are written there.
func (r *recipe) offers(ctx context.Context, step *Step) error {
	for i, o := range step.Offers {
		if err := r.waits(ctx, i > 0); err != nil {
			return err
		}
		line, whole := r.a.Now(o.Run)
		if !whole {
			return fmt.Errorf("beat %q: the offer %q names what there is not: %s", step.ID, o.Run.Source(), line)
		}
		if err := r.run(ctx, r.a.Lesson.script(line), line, o.Exit); err != nil {
			return fmt.Errorf("beat %q: %w", step.ID, err)
		}
	}
	return nil
}

// waits has the cluster run on at its own pace, as it does while a learner reads and types.
func (r *recipe) waits(ctx context.Context, further bool) error {
	clock := r.c.Clock()
	if r.rest == 0 || !further || clock.Paused {
		return nil
	}
	if err := r.c.Speed(1); err != nil {
		return err
	}
	over := func() bool { return r.c.Clock().Elapsed >= clock.Elapsed+r.rest }
	err := r.until(ctx, 3*r.rest+patience, over, func() error { return fmt.Errorf("the cluster does not get on with %s of its time", r.rest) })
	return errors.Join(err, r.c.Speed(clock.Speed))
}

// run runs a script and looks at the trace meanwhile.
func (r *recipe) run(ctx context.Context, script, name string, want int) error {
	type ended struct {
		out  string
		exit int
	}
	done := make(chan ended, 1)
	go func() {
		out, exit := perform(ctx, r.c, script, name)
		done <- ended{out, exit}
	}()
	tick := time.NewTicker(looking)
	defer tick.Stop()
	for {
		select {
		case e := <-done:
			r.look()
			if e.exit != want {
				return fmt.Errorf("%q ended with exit status %d, not %d:\n%s", name, e.exit, want, e.out)
			}
			return r.a.Err()
		case <-tick.C:
			r.look()
		}
	}
}

// looking is how often the trace is looked at while something is waited for.
const looking = 5 * time.Millisecond

// until looks at the trace until something holds.
func (r *recipe) until(ctx context.Context, within time.Duration, holds func() bool, late func() error) error {
	end := time.NewTimer(within)
	defer end.Stop()
	tick := time.NewTicker(looking)
	defer tick.Stop()
	for {
		r.look()
		switch {
		case r.a.Err() != nil:
			return r.a.Err()
		case holds():
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-end.C:
			return late()
		case <-tick.C:
		}
	}
}
