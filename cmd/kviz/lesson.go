package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"kviz/assets"
	"kviz/cluster/nearest"
	"kviz/lessons"
	"kviz/tui/panes"
)

// lessonVerbs are what kviz lesson does, in the order in which its help lists them.
var lessonVerbs = []string{"list", "show", "start", "recall", "progress", "export-progress", "check", "frames", "cast", "handout", "notes", "new", "edit", "watch", "bundle", "translate"}

func lessonCommand() *command {
	var s shape
	var look look
	var from lessonFolders
	var notes, plain bool
	prove := proving{size: "80x24"}
	var own *pflag.FlagSet
	return &command{
		name: "lesson", usage: "list | show ID | start ID[#BEAT] | recall | progress | check [ID…] | frames ID | handout ID | new ID-WORDS | edit ID",
		short: "guided lessons",
		long: `list   all lessons, and what you have done
show   a lesson as text
start  a lesson in the explorer, where you left it, or at a beat: L09#crash
recall questions of lessons that you have done, some days after, on another run
progress         what you have done, and when questions come back
export-progress  the same as a table (CSV), a row for each beat; kviz sends nothing anywhere
check  proves lessons: each starts unsolved, its solution solves it, its near-misses do not
frames print what each beat of a lesson shows where it stands
cast   the same as it moves, into a file for asciinema: L09, or some of its beats: L09#crash..write
handout  a lesson to be taken home: one page (-o l09.html), Markdown or text
notes    what is for who teaches, beat by beat
new    a folder with a small lesson that passes the check, to write your own from
edit   a copy of one of kviz' own, to change
watch  a lesson's folder beside your editor: begins again at the beat whenever you save
bundle one file with a lesson in it, for others; opened with --lessons FILE
translate  print the texts of a lesson for another language (--lang de), to be filled in

Lessons of your own are shown and proven with --lessons DIR; one that has the id of another
stands in its place. kviz help lessons has the format.`,
		example: "kviz lesson start L02\nkviz lesson new L50-my-topic && kviz lesson check L50 --lessons L50-my-topic",
		flags: func(f *pflag.FlagSet) {
			own = f
			s.register(f, "1", fixedEpoch)
			from.register(f)
			f.BoolVar(&notes, "notes", false, "with show and handout: the notes for who teaches, too; with show also the answers")
			f.BoolVar(&plain, "plain", false, "with start: in lines of text instead of a screen, for screen readers and pipes")
			prove.register(f)
			look.register(f)
		},
		run: func(ctx context.Context, io streams, args []string) (err error) {
			if len(args) == 0 {
				return &usageError{text: "say what to do: " + strings.Join(lessonVerbs, ", "), command: "lesson"}
			}
			switch args[0] {
			case "new":
				return newLesson(io.out, args[1:])
			case "edit":
				return editLesson(io.out, args[1:])
			case "bundle":
				return bundleLesson(io.out, args[1:], prove.output, s.seed)
			case "watch":
				return watchLesson(ctx, io, args[1:], &s, own, look.config())
			}
			more, err := from.sources()
			if err != nil {
				return err
			}
			all, broken := lessons.Load(assets.Lessons(), panes.Names(), more...)
			if broken != nil { // which keeps nobody from the other lessons
				if args[0] == "check" && len(args) == 1 {
					defer func() { err = errors.Join(err, broken) }()
				} else if err := otherwise(io.err, all, args, broken); err != nil {
					return err
				}
			}
			if args[0] == "translate" {
				return translateLesson(io.out, all, args[1:], from.lang)
			}
			if err := from.translate(all); err != nil {
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
				beat := ""
				if len(ids) == 1 {
					ids[0], beat, _ = strings.Cut(ids[0], "#")
				}
				l, err := oneLesson(all, ids)
				if err != nil {
					return err
				}
				cfg := look.config()
				cfg.Lesson, cfg.Plain = l.ID, plain
				if beat != "" {
					if err := hasBeat(l, beat); err != nil {
						return err
					}
					cfg.Lesson += "#" + beat
				}
				s.sceneOf(l.Scene, own)
				return screen(ctx, io, &s, &endpoints{etcdPort: noPort}, more, &from, cfg)
			case "recall":
				cfg := look.config()
				cfg.Lesson, cfg.Plain = lessons.Recalling, plain
				if err := s.recallScene(all, own); err != nil {
					return err
				}
				return screen(ctx, io, &s, &endpoints{etcdPort: noPort}, more, &from, cfg)
			case "progress", "export-progress":
				progress, err := loadProgress()
				if err != nil {
					return err
				}
				if verb == "export-progress" {
					return progress.WriteCSV(io.out)
				}
				fmt.Fprint(io.out, strings.ReplaceAll(lessons.Report(all, progress), "**", ""))
				return nil
			case "check":
				return prove.check(ctx, io.out, all, ids, s.seed)
			case "cast":
				beats := ""
				if len(ids) == 1 {
					ids[0], beats, _ = strings.Cut(ids[0], "#")
				}
				l, err := oneLesson(all, ids)
				if err != nil {
					return err
				}
				return prove.cast(ctx, io.out, l, beats, prove.output, look.theme, s.seed)
			case "handout":
				l, err := oneLesson(all, ids)
				if err != nil {
					return err
				}
				return prove.handout(ctx, io.out, l, notes, s.seed)
			case "notes":
				l, err := oneLesson(all, ids)
				if err != nil {
					return err
				}
				teacherNotes(io.out, l)
				return nil
			case "frames":
				l, err := oneLesson(all, ids)
				if err != nil {
					return err
				}
				return prove.frames(ctx, io.out, l, s.seed)
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

// otherwise says which lessons cannot be read, and refuses a command that names one there is not: it may be one
// of those.
func otherwise(w io.Writer, all []*lessons.Lesson, args []string, broken error) error {
	if len(args) > 1 {
		id, _, _ := strings.Cut(args[1], "#")
		if _, err := lessonsNamed(all, []string{id}); err != nil {
			return broken
		}
	}
	fmt.Fprintf(w, "%v\nkviz: the other lessons follow\n\n", broken)
	return nil
}

func listLessons(w io.Writer, all []*lessons.Lesson) error {
	progress, err := loadProgress()
	if err != nil {
		return err
	}
	part, next := "", ""
	for i, x := range lessons.List(all, progress) {
		l := all[i]
		if x.Part != part {
			part = x.Part
			fmt.Fprintf(w, "%s\n", part)
		}
		mark, state := "○", fmt.Sprintf("%d min", l.Minutes)
		switch {
		case x.Step > 1:
			mark, state = "◐", fmt.Sprintf("at beat %d of %d", x.Step, x.Steps)
		case x.Due > 0:
			mark, state = "●", "done; due: kviz lesson recall"
		case x.Done:
			mark, state = "●", "done"
		}
		if x.Chosen {
			state += "; take this next"
			next = fmt.Sprintf("Next is %s (kviz lesson start %s): %s.\n", l.ID, l.ID, x.Why)
		}
		fmt.Fprintf(w, "%s %s  %s (%s)\n     %s\n", mark, l.ID, l.Title, state, strings.Join(l.Teaches, ", "))
		switch {
		case l.Replaces:
			fmt.Fprintf(w, "     from %s, in place of the %s before it\n", l.From, l.ID)
		case l.From != "":
			fmt.Fprintf(w, "     from %s\n", l.From)
		}
	}
	if next != "" {
		fmt.Fprint(w, "\n"+next)
	}
	return nil
}

// hasBeat refuses a beat that a lesson does not have.
func hasBeat(l *lessons.Lesson, beat string) error {
	var known []string
	for _, s := range l.Steps {
		if s.ID == beat {
			return nil
		}
		known = append(known, s.ID)
	}
	text := fmt.Sprintf("lesson %s has no beat %q: one of %s", l.ID, beat, strings.Join(known, ", "))
	if near := nearest.To(beat, known); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return errors.New(text)
}

// sceneOf takes the cluster that a lesson is written for, as far as no flag names another.
func (s *shape) sceneOf(scene lessons.Scene, flags *pflag.FlagSet) {
	if scene.Members > 0 && !flags.Changed("members") {
		s.members.n = scene.Members
	}
	if scene.Nodes > 0 && !flags.Changed("nodes") {
		s.nodes = scene.Nodes
	}
	if scene.APIServers > 0 && !flags.Changed("apiservers") {
		s.servers = scene.APIServers
	}
}

// recallScene takes the cluster for the first question that is due, and another seed each time.
func (s *shape) recallScene(all []*lessons.Lesson, flags *pflag.FlagSet) error {
	progress, err := loadProgress()
	if err != nil {
		return err
	}
	for _, d := range progress.Due() {
		l, step := lessons.FindDue(all, d)
		if l == nil {
			continue
		}
		s.sceneOf(lessons.RecallScene(l, step.ID), flags)
		if !flags.Changed("seed") {
			s.seed = uint64(time.Now().UnixNano())%9999 + 1 // one that can be read and typed
		}
		return nil
	}
	return errors.New("no question is due; kviz lesson progress says when the next one is")
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
