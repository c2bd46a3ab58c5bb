package lessons

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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
	// It gives how long what it shows plays; 0 where it plays nothing.
	Prove(look Look, h *view.History) (plays time.Duration, err error)
	// Cells are the names of what can be pointed at, where the beat asks for that.
	Cells(look Look, h *view.History) []string
}

// Trials proves lessons, so many attempts at once of all that are being proven.
// Clusters without a quorum wait in real time, so attempts wait side by side.
type Trials struct {
	Fast  bool // of a lesson in beats only its own offers, which show every beat; no other script
	Slow  bool // its own offers at a learner's speed as well ([Lesson.Unhurried])
	slots chan struct{}
}

// NewTrials makes trials of which so many run at once.
func NewTrials(atOnce int) *Trials { return &Trials{slots: make(chan struct{}, max(atOnce, 1))} }

// Check proves a lesson, with a fresh cluster for every attempt: nothing is done when the scene is
// set, what it offers and the other accepted scripts meet its goals, its near-misses do not, and
// every prediction comes out as marked. screen, where there is one, proves what beats show.
func (t *Trials) Check(ctx context.Context, l *Lesson, boot Boot, screen Screen) error {
	all := l.Trials()
	if t.Fast {
		all = all[:1]
	}
	if t.Slow {
		all = append(all, l.Unhurried())
	}
	tries := make([]func() error, len(all))
	for i, trial := range all {
		tries[i] = func() error { return trial.Try(ctx, boot, screen) }
	}
	return t.run(l, tries)
}

// run makes trials of a lesson, as many at once as there are slots.
func (t *Trials) run(l *Lesson, all []func() error) error {
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
