package lessons

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// soon is the real time in which a beat is reached on a cluster of one's own, on a machine with nothing else to do.
const soon = 10 * time.Second

// Reached is how long it took until a beat could be lived.
type Reached struct {
	Beat string
	Took time.Duration // from before the cluster was booted
}

// Reach begins a lesson at every one of its beats, as a learner does who asks for that beat, each on a fresh
// cluster and one after another, so that none waits for another. One that takes longer than ten seconds is
// refused.
func (l *Lesson) Reach(ctx context.Context, boot Boot, tell func(Reached)) error {
	var wrong []error
	for i, step := range l.Steps {
		took, err := l.reach(ctx, boot, i)
		if err == nil {
			tell(Reached{step.ID, took})
			err = late(took)
		}
		if err != nil {
			wrong = append(wrong, l.shown(step, fmt.Errorf("beat %q: %w", step.ID, err)))
		}
	}
	return errors.Join(wrong...)
}

// late refuses what took too long.
func late(took time.Duration) error {
	if took <= soon {
		return nil
	}
	return fmt.Errorf("it is reached after %s, and should be within %s; shorten what the beats before it wait for", took.Round(100*time.Millisecond), soon)
}

// reach is the time until a lesson stands at a beat.
func (l *Lesson) reach(ctx context.Context, boot Boot, beat int) (took time.Duration, err error) {
	start := time.Now()
	k, closer, err := l.begun(ctx, boot, beat)
	if err != nil {
		return 0, err
	}
	took = time.Since(start)
	k.p.Close()
	return took, closer.Close()
}

// begun boots a cluster and begins the lesson there at a beat, as a learner begins it.
func (l *Lesson) begun(ctx context.Context, boot Boot, beat int) (k *keen, end io.Closer, err error) {
	c, closer, err := boot()
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, closer.Close())
		}
	}()
	if err := errors.Join(c.Resume(), c.Speed(brisk)); err != nil {
		return nil, nil, err
	}
	k = &keen{ctx: ctx, c: c, p: NewPlayer(c, []*Lesson{l}, nil)}
	if err := errors.Join(k.p.Start(l.ID+"#"+l.Steps[beat].ID), k.set()); err != nil {
		k.p.Close()
		return nil, nil, err
	}
	return k, closer, nil
}
