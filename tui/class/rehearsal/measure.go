package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"kviz/lessons"
)

// Spent is what a class's process has taken from the machine.
type Spent struct {
	Memory    uint64 // bytes of its own that lie in RAM
	Processor time.Duration
}

// Plan is what is rehearsed.
type Plan struct {
	Lesson    *lessons.Lesson
	Followers int
	Private   int           // of them go into a cluster of their own
	Watch     time.Duration // for how long it is looked at what the class takes at rest, and while the teacher goes on
	Spent     func() (Spent, error)
	Say       func(what string) // what is being done; nil: nobody wants to know
}

// Found is what a rehearsal has measured. Times are those of students' machines: from a key, or from the teacher's, to the bytes
// that changed their screens.
type Found struct {
	Joined time.Duration   // until all followed, who came at the same moment
	Steps  []time.Duration // of the teacher, on each screen
	Looks  []time.Duration // a follower looks around
	Ready  []time.Duration // a cluster of one's own, from F
	Keys   []time.Duration // in a cluster of one's own

	Answers int // to the polls on the way

	Unknown  error // why it is not known what the process took; nil if it is
	Follower int64 // bytes of one
	Cluster  int64 // bytes of one
	Alone    float64
	Rest     float64 // shares of a processor: without students, with followers while nothing changes
	Watched  float64 // while the teacher goes on once a second
	Busy     float64 // with the clusters of their own
}

// rehearsed is a rehearsal under way.
type rehearsed struct {
	Plan
	found     Found
	teacher   *Teacher
	followers []*Student
}

// Measure rehearses a class that stands at the first beat of its lesson: students follow to the first beat in which something is
// done, and answer what is asked on the way; there some go into clusters of their own. It leaves the class open.
func Measure(ctx context.Context, c Class, plan Plan) (*Found, error) {
	r := &rehearsed{Plan: plan}
	if r.Say == nil {
		r.Say = func(string) {}
	}
	defer func() {
		for _, s := range r.followers {
			if s != nil {
				s.Drop()
			}
		}
		if r.teacher != nil {
			r.teacher.Drop()
		}
	}()
	for _, part := range []func(context.Context, Class) error{r.join, r.watch, r.goToGate, r.lookAround, r.alone} {
		if err := part(ctx, c); err != nil {
			return nil, err
		}
	}
	return &r.found, nil
}

// settled is for how long a class is left alone before what it takes is read.
const settled = 2 * time.Second

// take reads what the process takes over a time: its share of a processor, and its memory at the end.
func (r *rehearsed) take(ctx context.Context, over time.Duration) (share float64, memory int64, err error) {
	before, err := r.spent()
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	if err := sleep(ctx, over); err != nil {
		return 0, 0, err
	}
	after, err := r.spent()
	return (after.Processor - before.Processor).Seconds() / time.Since(began).Seconds(), int64(after.Memory), err
}

// spent is what the process has taken. That the system does not tell it is no failure of a rehearsal.
func (r *rehearsed) spent() (Spent, error) {
	s, err := r.Spent()
	if errors.Is(err, errors.ErrUnsupported) {
		r.found.Unknown, err = err, nil
	}
	return s, err
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// join has all come in at the same moment.
func (r *rehearsed) join(ctx context.Context, c Class) (err error) {
	if r.teacher, err = c.Teacher(ctx); err != nil {
		return err
	}
	if err := r.teacher.Begins(ctx); err != nil {
		return err
	}
	if err := sleep(ctx, settled); err != nil {
		return err
	}
	share, before, err := r.take(ctx, r.Watch)
	if err != nil {
		return err
	}
	r.found.Alone = share
	r.Say(fmt.Sprintf("%d students come in", r.Followers))
	var names []string
	for i := range r.Followers {
		names = append(names, fmt.Sprint("student", i+1))
	}
	step, steps := r.teacher.At()
	began := time.Now()
	if r.followers, err = c.Students(ctx, names...); err != nil {
		return err
	}
	last, err := latest(r.followers, func(s *Student) (time.Time, error) { return s.Follows(ctx, step, steps) })
	if err != nil {
		return err
	}
	r.found.Joined = last.Sub(began)
	if err := sleep(ctx, settled); err != nil {
		return err
	}
	share, after, err := r.take(ctx, r.Watch)
	r.found.Rest, r.found.Follower = share, (after-before)/int64(max(r.Followers, 1))
	return err
}

// latest is when the last of some students saw something.
func latest(all []*Student, sees func(*Student) (time.Time, error)) (last time.Time, err error) {
	var mu sync.Mutex
	err = Each(all, func(_ int, s *Student) error {
		at, err := sees(s)
		mu.Lock()
		defer mu.Unlock()
		if at.After(last) {
			last = at
		}
		return err
	})
	return last, err
}

// step has the teacher do something that leads to a beat, and notes how long it takes to every screen.
func (r *rehearsed) step(ctx context.Context, to, steps int, does func() (time.Time, error)) error {
	holds := func(text string) bool { return strings.Contains(said(text), Beat(to, steps)) }
	waits := make([]*wait, len(r.followers))
	for i, s := range r.followers {
		waits[i] = s.screen.until(holds)
	}
	began, err := does()
	if err != nil {
		return err
	}
	for i, w := range waits {
		select {
		case at, ok := <-w.done:
			if !ok {
				return fmt.Errorf("%s: %w", r.followers[i].Name, errEnded)
			}
			r.found.Steps = append(r.found.Steps, at.Sub(began))
		case <-ctx.Done():
			return fmt.Errorf("%s never saw %s: %w; the screen shows\n%s", r.followers[i].Name, Beat(to, steps), ctx.Err(), r.followers[i].Screen())
		}
	}
	return nil
}

// watch has the teacher go on and back once a second, as long as it is looked at what that takes.
func (r *rehearsed) watch(ctx context.Context, _ Class) error {
	first, steps := r.teacher.At()
	r.Say("the teacher goes on and back")
	if err := r.teacher.GoesOn(ctx); err != nil {
		return err
	}
	before, err := r.spent()
	if err != nil {
		return err
	}
	began := time.Now()
	for i := 0; i < 4 || time.Since(began) < r.Watch; i++ {
		key, to := "\x1b[5~", first // page up
		if i%2 == 1 {
			key, to = " ", first+1
		}
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
		err := r.step(ctx, to, steps, func() (time.Time, error) { return time.Now(), r.teacher.Type(key) })
		if err != nil {
			return err
		}
	}
	after, err := r.spent()
	r.found.Watched = (after.Processor - before.Processor).Seconds() / time.Since(began).Seconds()
	return err
}

// goToGate goes on to the first beat in which something is done; everybody answers what is asked on the way.
func (r *rehearsed) goToGate(ctx context.Context, _ Class) error {
	r.Say("they follow, and answer")
	for {
		no, steps := r.teacher.At()
		if no > len(r.Lesson.Steps) {
			return fmt.Errorf("beat %d, and %s has %d", no, r.Lesson.ID, len(r.Lesson.Steps))
		}
		beat := r.Lesson.Steps[no-1]
		if beat.Kind == lessons.Do || no == steps {
			_, err := latest(r.followers, func(s *Student) (time.Time, error) { return s.Follows(ctx, no, steps) })
			return err
		}
		if q := beat.Question; q != nil {
			if err := Each(r.followers, func(i int, s *Student) error { return s.Answer(ctx, q, i) }); err != nil {
				return err
			}
			r.found.Answers += len(r.followers)
			if err := r.teacher.ClosesPoll(); err != nil {
				return err
			}
		}
		if err := r.teacher.GoesOn(ctx); err != nil {
			return err
		}
	}
}

// tries is how often each measures a key.
const tries = 5

// lookAround has some look around, beside one another.
func (r *rehearsed) lookAround(ctx context.Context, _ Class) error {
	r.Say("some look around")
	var mu sync.Mutex
	return Each(r.followers[:min(len(r.followers), 30)], func(_ int, s *Student) error {
		for i := range tries {
			if err := sleep(ctx, 300*time.Millisecond); err != nil {
				return err
			}
			before := s.Screen()
			began := time.Now()
			if err := s.Type([]string{",", "f"}[i%2]); err != nil {
				return err
			}
			at, err := s.Until(ctx, "what was before", func(text string) bool { return text != before })
			if err != nil {
				return err
			}
			mu.Lock()
			r.found.Looks = append(r.found.Looks, at.Sub(began))
			mu.Unlock()
		}
		if err := s.Type("f"); err != nil {
			return err
		}
		_, err := s.Sees(ctx, follows)
		return err
	})
}

// alone has some go into clusters of their own at the same moment, type there, do what is offered, and come back.
func (r *rehearsed) alone(ctx context.Context, _ Class) error {
	own := r.able()
	if len(own) == 0 {
		return nil
	}
	r.Say(fmt.Sprintf("%d go into a cluster of their own", len(own)))
	_, before, err := r.take(ctx, time.Second)
	if err != nil {
		return err
	}
	if err := r.teacher.OpensGate(); err != nil {
		return err
	}
	if _, err := latest(own, func(s *Student) (time.Time, error) { return s.Sees(ctx, gateIsOpen) }); err != nil {
		return err
	}
	var mu sync.Mutex
	began := time.Now()
	err = Each(own, func(_ int, s *Student) error {
		at, err := s.Alone(ctx)
		mu.Lock()
		defer mu.Unlock()
		r.found.Ready = append(r.found.Ready, at.Sub(began))
		return err
	})
	if err != nil {
		return err
	}
	if err := sleep(ctx, settled); err != nil {
		return err
	}
	share, after, err := r.take(ctx, max(r.Watch, 2*time.Second))
	if err != nil {
		return err
	}
	r.found.Busy, r.found.Cluster = share, (after-before)/int64(len(own))
	r.Say("they type and do what is offered there, and come back")
	err = Each(own, func(_ int, s *Student) error {
		took, err := s.types(ctx)
		mu.Lock()
		r.found.Keys = append(r.found.Keys, took...)
		mu.Unlock()
		return err
	})
	if err != nil {
		return err
	}
	return Each(own, func(_ int, s *Student) error {
		if err := s.Does(ctx); err != nil {
			return err
		}
		return s.Back(ctx)
	})
}

// able are those who go into a cluster of their own: an explorer needs a screen of some size.
func (r *rehearsed) able() (own []*Student) {
	for _, s := range r.followers {
		if s.Width >= 60 && s.Height >= 18 && len(own) < r.Private {
			own = append(own, s)
		}
	}
	return own
}

// types types a command without running it, and notes how long each letter takes to the screen.
func (s *Student) types(ctx context.Context) (took []time.Duration, err error) {
	const text = "zqxjzqxj"
	if err := s.Type(":"); err != nil {
		return nil, err
	}
	if err := sleep(ctx, patience); err != nil {
		return nil, err
	}
	for i := range len(text) {
		began := time.Now()
		if err := s.Type(text[i : i+1]); err != nil {
			return nil, err
		}
		at, err := s.Sees(ctx, text[:i+1])
		if err != nil {
			return nil, err
		}
		if i > 1 { // a letter or two stand on many screens
			took = append(took, at.Sub(began))
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return nil, err
		}
	}
	if err := s.Type(strings.Repeat("\x7f", len(text)) + "\x1b[27u"); err != nil {
		return nil, err
	}
	_, err = s.Until(ctx, "the lesson without a command", func(screen string) bool {
		return !strings.Contains(screen, text[:2]) && strings.Contains(screen, "⏎ run")
	})
	return took, err
}

// Share is the part of some times that lies below one of them: the median for 0.5. It is 0 where there are none.
func Share(of float64, times []time.Duration) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[min(int(of*float64(len(sorted))), len(sorted)-1)]
}
