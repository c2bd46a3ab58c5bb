package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"kviz/cluster"
	"kviz/lessons"
	"kviz/tui/panes"
	"kviz/tui/stage"
)

// proving is how lessons are proven and printed.
type proving struct {
	atOnce int
	fast   bool
	size   string
}

func (p *proving) register(f *pflag.FlagSet) {
	f.IntVarP(&p.atOnce, "at-once", "j", 4, "with check: how many clusters at once")
	f.BoolVar(&p.fast, "fast", false, "with check: the lesson's own way only, no other script")
	f.StringVar(&p.size, "size", p.size, "with frames: columns and rows of the screen")
}

// check proves lessons beside one another, and tells of each in their order.
func (p *proving) check(ctx context.Context, w io.Writer, all []*lessons.Lesson, ids []string, seed uint64) error {
	chosen, err := lessonsNamed(all, ids)
	if err != nil {
		return err
	}
	if p.atOnce < 1 {
		return &usageError{text: fmt.Sprintf("-j %d: at least one cluster at a time", p.atOnce), command: "lesson"}
	}
	trials := lessons.NewTrials(p.atOnce)
	trials.Fast = p.fast
	came := make([]chan error, len(chosen))
	for i, l := range chosen {
		came[i] = make(chan error, 1)
		go func() {
			came[i] <- trials.Check(ctx, l, func() (lessons.Cluster, io.Closer, error) { return bootForLesson(ctx, seed, l) }, stage.NewProof(panes.All))
		}()
	}
	var wrong []error
	for i, l := range chosen {
		if err := <-came[i]; err != nil {
			wrong = append(wrong, err)
			fmt.Fprintf(w, "✗ %s %s\n%v\n", l.ID, l.Title, err)
			continue
		}
		if p.fast {
			fmt.Fprintf(w, "✓ %s %s: starts unsolved, solution passes\n", l.ID, l.Title)
			continue
		}
		fmt.Fprintf(w, "✓ %s %s: starts unsolved, solution and %d other ways pass, near-misses that fail: %d\n", l.ID, l.Title, len(l.Accepted), len(l.Near))
	}
	return errors.Join(wrong...)
}

// frames goes through a lesson by what it offers, and prints what each beat shows where it stands.
func (p *proving) frames(ctx context.Context, w io.Writer, l *lessons.Lesson, seed uint64) error {
	var cols, rows int
	if _, err := fmt.Sscanf(strings.ToLower(p.size), "%dx%d", &cols, &rows); err != nil || cols < 60 || rows < 18 {
		return &usageError{text: fmt.Sprintf("--size %s: want columns and rows, such as 80x24", p.size), command: "lesson"}
	}
	if l.Format == 1 {
		return fmt.Errorf("%s is a lesson in steps, which have no stage; kviz lesson show %[1]s has its text", l.ID)
	}
	trials := lessons.NewTrials(1)
	trials.Fast = true
	return trials.Check(ctx, l, func() (lessons.Cluster, io.Closer, error) { return bootForLesson(ctx, seed, l) }, stage.NewFrames(panes.All, cols, rows, w))
}

// bootForLesson gives a ready cluster whose time passes only while something is
// waited for; that of a lesson in beats passes as the lesson says.
func bootForLesson(ctx context.Context, seed uint64, l *lessons.Lesson) (lessons.Cluster, io.Closer, error) {
	c, err := cluster.Boot(ctx, cluster.Config{
		Seed: seed, Demand: l.Format == 1, NoSync: true, Version: version(), Members: l.Scene.Members, Nodes: l.Scene.Nodes,
	})
	if err != nil {
		return nil, nil, err
	}
	if err := c.WaitReady(ctx); err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	return c, c, nil
}
