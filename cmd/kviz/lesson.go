package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"kviz/assets"
	"kviz/cluster"
	"kviz/cluster/nearest"
	"kviz/lessons"
	"kviz/tui/panes"
)

// lessonVerbs are what kviz lesson does, in the order in which its help lists them.
var lessonVerbs = []string{"list", "show", "start", "check", "new", "edit"}

func lessonCommand() *command {
	var s shape
	var look look
	var from lessonFolders
	var notes, plain bool
	return &command{
		name: "lesson", usage: "list | show ID | start ID | check [ID…] | new ID-WORDS | edit ID",
		short: "guided lessons",
		long: `list   what there is, and what you have done
show   a lesson as text
start  a lesson in the explorer
check  proves lessons: each starts unsolved, its solution solves it, its near-misses do not
new    a folder with a small lesson that passes the check, to write your own from
edit   a copy of one of kviz' own, to change

Lessons of your own are shown and proven with --lessons DIR; one that has the id of another
stands in its place. kviz help lessons has the format.`,
		example: "kviz lesson start L02\nkviz lesson new L50-my-topic && kviz lesson check L50 --lessons L50-my-topic",
		flags: func(f *pflag.FlagSet) {
			s.register(f, "1", fixedEpoch)
			from.register(f)
			f.BoolVar(&notes, "notes", false, "with show: the notes for who teaches, and the answers, too")
			f.BoolVar(&plain, "plain", false, "with start: in lines of text instead of a screen, for screen readers and pipes")
			look.register(f)
		},
		run: func(ctx context.Context, io streams, args []string) error {
			if len(args) == 0 {
				return &usageError{text: "say what to do: " + strings.Join(lessonVerbs, ", "), command: "lesson"}
			}
			switch args[0] {
			case "new":
				return newLesson(io.out, args[1:])
			case "edit":
				return editLesson(io.out, args[1:])
			}
			more, err := from.sources()
			if err != nil {
				return err
			}
			all, err := lessons.Load(assets.Lessons(), panes.Names(), more...)
			if err != nil {
				return err
			}
			switch verb, ids := args[0], args[1:]; verb {
			case "list":
				return listLessons(io.out, all)
			case "show":
				l, err := oneLesson(all, ids)
				if err != nil {
					return err
				}
				showLesson(io.out, l, notes)
				return nil
			case "start":
				l, err := oneLesson(all, ids)
				if err != nil {
					return err
				}
				cfg := look.config()
				cfg.Lesson, cfg.Plain = l.ID, plain
				return screen(ctx, io, &s, &endpoints{etcdPort: noPort}, more, cfg)
			case "check":
				return checkLessons(ctx, io.out, all, ids, s.seed)
			default:
				text := fmt.Sprintf("unknown verb %q: %s", verb, strings.Join(lessonVerbs, ", "))
				if near := nearest.To(verb, lessonVerbs); near != "" {
					text += fmt.Sprintf("; did you mean %q?", near)
				}
				return &usageError{text: text, command: "lesson"}
			}
		},
	}
}

func listLessons(w io.Writer, all []*lessons.Lesson) error {
	progress, err := loadProgress()
	if err != nil {
		return err
	}
	for _, l := range all {
		mark := "○"
		if progress.Lessons[l.ID].Done {
			mark = "●"
		}
		fmt.Fprintf(w, "%s %s  %s (%d min)\n     %s\n", mark, l.ID, l.Title, l.Minutes, strings.Join(l.Teaches, ", "))
		switch {
		case l.Replaces:
			fmt.Fprintf(w, "     from %s, in place of the %s before it\n", l.From, l.ID)
		case l.From != "":
			fmt.Fprintf(w, "     from %s\n", l.From)
		}
	}
	return nil
}

func loadProgress() (*lessons.Progress, error) {
	path, err := lessons.ProgressPath()
	if err != nil {
		return nil, err
	}
	return lessons.LoadProgress(path)
}

// lessonsNamed finds lessons by ID; no ID is every lesson.
func lessonsNamed(all []*lessons.Lesson, ids []string) ([]*lessons.Lesson, error) {
	if len(ids) == 0 {
		return all, nil
	}
	var found []*lessons.Lesson
	var known []string
	for _, l := range all {
		known = append(known, l.ID)
	}
next:
	for _, id := range ids {
		for _, l := range all {
			if strings.EqualFold(l.ID, id) {
				found = append(found, l)
				continue next
			}
		}
		return nil, fmt.Errorf("there is no lesson %q: one of %s", id, strings.Join(known, ", "))
	}
	return found, nil
}

func oneLesson(all []*lessons.Lesson, ids []string) (*lessons.Lesson, error) {
	if len(ids) != 1 {
		return nil, &usageError{text: "name one lesson", command: "lesson"}
	}
	found, err := lessonsNamed(all, ids)
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

func showLesson(w io.Writer, l *lessons.Lesson, notes bool) {
	fmt.Fprintf(w, "%s  %s (%d min)\n", l.ID, l.Title, l.Minutes)
	for i, step := range l.Steps {
		fmt.Fprintf(w, "\n%d. [%s] %s\n\n%s\n", i+1, step.Kind, step.Title, step.Text)
		if q := step.Question; q != nil {
			fmt.Fprintf(w, "\n%s\n", q.Ask)
			for n, line := range q.Lines(notes) {
				fmt.Fprintf(w, "   %d) %s\n", n+1, line)
			}
		}
		for _, g := range step.Goals {
			fmt.Fprintf(w, "   ○ %s\n", g.Say)
		}
		if notes && step.Notes != "" {
			fmt.Fprintf(w, "   Note: %s\n", step.Notes)
		}
	}
}

func checkLessons(ctx context.Context, w io.Writer, all []*lessons.Lesson, ids []string, seed uint64) error {
	chosen, err := lessonsNamed(all, ids)
	if err != nil {
		return err
	}
	var wrong []error
	for _, l := range chosen {
		err := lessons.Check(ctx, l, func() (lessons.Cluster, io.Closer, error) { return bootForLesson(ctx, seed) })
		if err != nil {
			wrong = append(wrong, err)
			fmt.Fprintf(w, "✗ %s %s\n%v\n", l.ID, l.Title, err)
			continue
		}
		fmt.Fprintf(w, "✓ %s %s: starts unsolved, solution and %d other ways pass, near-misses that fail: %d\n", l.ID, l.Title, len(l.Accepted), len(l.Near))
	}
	return errors.Join(wrong...)
}

// bootForLesson gives a ready cluster whose time passes only while something is
// waited for.
func bootForLesson(ctx context.Context, seed uint64) (lessons.Cluster, io.Closer, error) {
	c, err := cluster.Boot(ctx, cluster.Config{Seed: seed, Demand: true, NoSync: true, Version: version()})
	if err != nil {
		return nil, nil, err
	}
	if err := c.WaitReady(ctx); err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	return c, c, nil
}
