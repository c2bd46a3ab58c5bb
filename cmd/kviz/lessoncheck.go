package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/spf13/pflag"

	"kviz/cluster"
	"kviz/cluster/glossary"
	"kviz/cluster/trace"
	"kviz/lessons"
	"kviz/tui/panes"
	"kviz/tui/stage"
)

// proving is how lessons are proven and printed.
type proving struct {
	atOnce int
	fast   bool
	slow   bool
	seeds  int
	undo   bool
	reach  bool
	size   string
	output string
	record bool
	format string
	class  string
}

func (p *proving) register(f *pflag.FlagSet) {
	f.IntVarP(&p.atOnce, "at-once", "j", 4, "with check: how many clusters at once")
	f.BoolVar(&p.fast, "fast", false, "with check: the lesson's own way only, no other script")
	f.BoolVar(&p.slow, "slow", false, "with check: the lesson's own way once more, with ten seconds between two commands, as a learner needs them")
	f.IntVar(&p.seeds, "seeds", 1, "with check: on so many seeds everything it says must be true, and what it asks have the same answer")
	f.BoolVar(&p.undo, "undo", false, "with check: in each beat in which something is done, break something else, undo that, and go on to the end")
	f.BoolVar(&p.reach, "reach", false, "with check: how long it takes until each beat can be lived, and which takes more than ten seconds; on a machine with nothing else to do")
	f.BoolVar(&p.record, "record", false, "with check: keep the lesson's own way as a recording, from which frames, cast and bundle draw")
	f.StringVar(&p.size, "size", p.size, "with frames, cast and handout: columns and rows of the screen")
	f.StringVarP(&p.output, "output", "o", "", "with cast, bundle and handout: the file to write")
	f.StringVar(&p.format, "format", "", "with handout: html, md or txt, else as the file is called; with cast: v2 (which every player knows) or v3")
	f.StringVar(&p.class, "class", "", "with handout: a file in which a class has exported what it came to")
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
	if p.seeds < 1 {
		return &usageError{text: fmt.Sprintf("--seeds %d: at least one", p.seeds), command: "lesson"}
	}
	debug.SetGCPercent(400) // each trial boots a cluster of its own: the heap may grow between collections
	trials := lessons.NewTrials(p.atOnce)
	trials.Fast, trials.Slow = p.fast, p.slow
	came := make([]chan error, len(chosen))
	for i, l := range chosen {
		came[i] = make(chan error, 1)
		go func() {
			came[i] <- errors.Join(l.Terms(all, glossary.Words()), l.Paced(), l.Points(stage.Pictures(panes.All)), p.prove(ctx, trials, l, seed))
		}()
	}
	var wrong []error
	for i, l := range chosen {
		if err := <-came[i]; err != nil {
			wrong = append(wrong, err)
			fmt.Fprintf(w, "✗ %s %s\n%v\n", l.ID, l.Title, err)
			continue
		}
		if t := l.Translated; t != nil {
			tellTranslation(w, l.ID, t)
		}
		fmt.Fprintf(w, "✓ %s %s: %s\n", l.ID, l.Title, p.proven(l))
	}
	if p.reach {
		wrong = append(wrong, reached(ctx, w, chosen, seed))
	}
	return errors.Join(wrong...)
}

// reached measures how long it takes to each beat of lessons, once nothing else is being proven.
func reached(ctx context.Context, w io.Writer, chosen []*lessons.Lesson, seed uint64) error {
	var wrong []error
	for _, l := range chosen {
		fmt.Fprintf(w, "%s %s: from no cluster to its beats\n", l.ID, l.Title)
		wrong = append(wrong, l.Reach(ctx, func() (lessons.Cluster, io.Closer, error) { return bootForLesson(ctx, seed, l) }, func(r lessons.Reached) {
			fmt.Fprintf(w, "  %6.1f s  %s\n", r.Took.Seconds(), r.Beat)
		}))
	}
	return errors.Join(wrong...)
}

// prove proves one lesson as far as was asked for, and keeps its recording if that was.
func (p *proving) prove(ctx context.Context, trials *lessons.Trials, l *lessons.Lesson, seed uint64) error {
	on := func(seed uint64) lessons.Boot {
		return func() (lessons.Cluster, io.Closer, error) { return bootForLesson(ctx, seed, l) }
	}
	screen := stage.NewProof(panes.All)
	marking := &lessons.Marking{Screen: screen, Marks: lessons.Marks{Kviz: version(), Seed: seed, Whole: !trials.Fast}}
	wrong := []error{trials.Check(ctx, l, on(seed), marking)}
	if p.seeds > 1 {
		var seeds []lessons.Seeded
		for i := range uint64(p.seeds) {
			seeds = append(seeds, lessons.Seeded{Seed: seed + i, Boot: on(seed + i)})
		}
		wrong = append(wrong, trials.Seeds(ctx, l, seeds, screen))
	}
	if p.undo {
		wrong = append(wrong, trials.Undo(ctx, l, on(seed), func(past []*trace.Event, at trace.ID) (lessons.Cluster, io.Closer, error) {
			c, err := cluster.Fork(ctx, past, cluster.ForkConfig{Parent: "the check", At: at, Version: version(), Limit: roomFor(past)})
			return c, c, err
		}, seed))
	}
	if err := errors.Join(wrong...); err != nil || !p.record {
		return err
	}
	var err error
	if marking.Marks.Digest, err = lessons.Digest(l.Folder()); err != nil {
		return err
	}
	return keepRecording(marking)
}

// columns is the size of the screen that is asked for.
func (p *proving) columns() (cols, rows int, err error) {
	if _, err := fmt.Sscanf(strings.ToLower(p.size), "%dx%d", &cols, &rows); err != nil || cols < 60 || rows < 18 {
		return 0, 0, &usageError{text: fmt.Sprintf("--size %s: want columns and rows, such as 80x24", p.size), command: "lesson"}
	}
	return cols, rows, nil
}

// proven is what holds of a lesson that passed.
func (p *proving) proven(l *lessons.Lesson) string {
	says := []string{"starts unsolved, solution passes"}
	if !p.fast {
		says[0] = fmt.Sprintf("starts unsolved, solution and %d other ways pass, near-misses that fail: %d", len(l.Accepted), len(l.Near))
	}
	if p.slow {
		says = append(says, "true at a learner's speed")
	}
	if p.seeds > 1 {
		says = append(says, fmt.Sprintf("true on %d seeds", p.seeds))
	}
	if p.undo {
		says = append(says, "mistakes can be undone")
	}
	return strings.Join(says, "; ")
}

// frames goes through a lesson by what it offers, and prints what each beat shows where it stands.
func (p *proving) frames(ctx context.Context, w io.Writer, l *lessons.Lesson, seed uint64) error {
	cols, rows, err := p.columns()
	if err != nil {
		return err
	}
	return throughBeats(ctx, l, seed, stage.NewFrames(panes.All, cols, rows, w))
}

// bootForLesson gives a ready cluster whose time passes as the lesson says.
func bootForLesson(ctx context.Context, seed uint64, l *lessons.Lesson) (lessons.Cluster, io.Closer, error) {
	c, err := cluster.Boot(ctx, cluster.Config{
		Seed: seed, NoSync: true, Version: version(), Members: l.Scene.Members, Nodes: l.Scene.Nodes,
	})
	if err != nil {
		return nil, nil, err
	}
	if err := c.WaitReady(ctx); err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	return c, c, nil
}
