package lessons

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"kviz/cluster/control"
	"kviz/cluster/view"
)

// Boot starts a cluster that is ready for a lesson.
type Boot func() (Cluster, io.Closer, error)

// Screen proves what a beat of a lesson shows where it stands: that what it points at is to be
// seen, and changes.
type Screen interface {
	Prove(look Look, h *view.History) error
}

// Trials proves lessons, so many attempts at once of all that are being proven.
// Clusters without a quorum wait in real time, so attempts wait side by side.
type Trials struct {
	Fast  bool // of a lesson in beats only its own offers, which show every beat; no other script
	slots chan struct{}
}

// NewTrials makes trials of which so many run at once.
func NewTrials(atOnce int) *Trials { return &Trials{slots: make(chan struct{}, max(atOnce, 1))} }

// Check proves a lesson, with a fresh cluster for every attempt: it is not
// solved when the scene is set, its solution and the other accepted scripts
// solve it, its near-misses do not, every prediction comes out as marked, and of a
// question of order or match the marked answer passes and none next to it. screen, where there is
// one, proves what beats show.
func (t *Trials) Check(ctx context.Context, l *Lesson, boot Boot, screen Screen) error {
	all := l.trials(ctx, boot)
	if l.Format > 1 {
		all = l.beatTrials(ctx, boot, screen)
	}
	if t.Fast {
		all = all[:1]
	}
	var wg sync.WaitGroup
	wrong := make([]error, len(all))
	for i, try := range all {
		wg.Go(func() {
			t.slots <- struct{}{}
			defer func() { <-t.slots }()
			if err := undisturbed(try); err != nil {
				wrong[i] = fmt.Errorf("lesson %s: %w", l.ID, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(wrong...)
}

// trials are the attempts at a lesson of format 1.
func (l *Lesson) trials(ctx context.Context, boot Boot) []func() error {
	try := func(name, script string, solves bool) func() error {
		return func() error {
			if err := l.attempt(ctx, script, boot, solves); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		}
	}
	all := []func() error{try("solution.sh", l.Solution, true)}
	for _, name := range sorted(l.Accepted) {
		all = append(all, try("accepted/"+name, l.Accepted[name], true))
	}
	for _, name := range sorted(l.Near) {
		all = append(all, try("near-miss/"+name, l.Near[name], false))
	}
	return all
}

func (l *Lesson) attempt(ctx context.Context, script string, boot Boot, solves bool) (err error) {
	c, closer, err := boot()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closer.Close()) }()

	// What scripts write to files (a backup of the store) is this trial's own.
	dir, err := os.MkdirTemp("", "kviz-lesson-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c.Stand(dir)
	if out, exit := perform(ctx, c, l.script(l.Setup), "setup.sh"); exit != 0 {
		return fmt.Errorf("setup.sh ended with exit status %d:\n%s", exit, out)
	}
	h := view.NewHistory(c.Trace())
	h.CatchUp(0)
	from := h.Len()
	s := NewSession(l, h.Latest())
	if s.Solved() {
		return errors.New("it is solved before anything was done")
	}
	out, exit, err := s.attend(c, from, func() (string, int) { return perform(ctx, c, l.script(script), "script") })
	if err != nil {
		return err
	}
	if solves && exit != 0 {
		return fmt.Errorf("it ended with exit status %d:\n%s", exit, out)
	}
	switch open := s.Unmet(); {
	case solves && len(open) > 0:
		var names []string
		for _, g := range open {
			names = append(names, fmt.Sprintf("%s (%s)", g.ID, g.Say))
		}
		return fmt.Errorf("it does not solve the lesson; open: %s\n%s", strings.Join(names, "; "), out)
	case !solves && len(open) == 0:
		return errors.New("it solves the lesson, but must not")
	case solves:
		return s.predictions()
	}
	return nil
}

// attend runs a script and judges what happens while it runs, as the explorer does: the
// cluster does not keep every event to the end.
func (s *Session) attend(c Cluster, from uint64, script func() (string, int)) (out string, exit int, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		out, exit = script()
	}()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for err == nil {
		select {
		case <-done:
			_, err = s.follow(c, from)
			return out, exit, err
		case <-look.C:
			from, err = s.follow(c, from)
		}
	}
	<-done
	return out, exit, err
}

// follow folds what has happened since a position, and gives the next one.
func (s *Session) follow(c Cluster, from uint64) (next uint64, err error) {
	for {
		events, next, lost := c.Trace().Read(from, 4096)
		if lost > 0 {
			return next, fmt.Errorf("%d events were let go before they were judged; the cluster keeps too few for this lesson", lost)
		}
		for _, e := range events {
			s.Apply(e)
		}
		if from = next; len(events) == 0 {
			return from, s.Err()
		}
	}
}

// predictions holds the marked answers against what the simulation did.
func (s *Session) predictions() error {
	for _, step := range s.Lesson.Steps {
		q := step.Question
		if q != nil && q.Form() != OneOf {
			if err := s.prove(step); err != nil {
				return err
			}
			continue
		}
		if q == nil || q.Quiz() {
			continue
		}
		v, ok := s.told[step.ID]
		if !ok {
			return fmt.Errorf("step %q: the moment that reveals the answer never came", step.ID)
		}
		for i, c := range q.Choices {
			if v.holds[i] != c.Right {
				return fmt.Errorf("step %q: %q is marked right=%v, but at #%s the simulation says %v", step.ID, c.Text, c.Right, v.at, v.holds[i])
			}
		}
	}
	return nil
}

// script is a script of the lesson with the functions that it may use.
func (l *Lesson) script(text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return l.Words + "\n" + text
}

// perform runs a script and gives what it wrote.
func perform(ctx context.Context, c Cluster, script, source string) (string, int) {
	if strings.TrimSpace(script) == "" {
		return "", 0
	}
	var out bytes.Buffer
	exit := c.Exec(ctx, script, control.Streams{In: strings.NewReader(""), Out: &out, Err: &out, Source: source})
	return out.String(), exit
}
