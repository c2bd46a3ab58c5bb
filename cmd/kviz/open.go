package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"kviz/assets"
	"kviz/cluster/nearest"
	"kviz/cluster/trace"
	"kviz/lessons"
	"kviz/lessons/link"
	"kviz/tui"
	"kviz/tui/panes"
)

func openCommand() *command {
	var (
		s     shape
		look  look
		from  lessonFolders
		lines plainLook
		own   *pflag.FlagSet
	)
	return &command{
		name: "open", usage: "LINK|FILE [flags]",
		short: "goes where a link leads: to a beat of a lesson, or an event of a recording",
		long: `A link is a line of text, or a small file with that line:

    L09@3#crash         the beat crash of L09, as of its version 3
    run.kvrun#8841      the event 8841 of a recording
    run.kvrun           a recording

c in a lesson copies the link to its beat, Y in the explorer that to the event. Where the lesson is
there in another version, kviz says so, and opens the nearest beat. A recording in a link file is
looked for beside that file.`,
		example: "kviz open L09@3#crash\nkviz open run.kvrun#8841",
		flags: func(f *pflag.FlagSet) {
			own = f
			s.register(f, "1", fixedEpoch)
			from.register(f)
			lines.register(f, "")
			look.register(f)
		},
		run: func(ctx context.Context, io streams, args []string) error {
			if len(args) != 1 {
				return &usageError{text: "name one link, or a file"}
			}
			cfg := look.config()
			if err := errors.Join(lines.into(&cfg), knownLook(cfg)); err != nil {
				return err
			}
			to, err := linkOf(args[0])
			if err != nil {
				return err
			}
			switch {
			case to.Run != "":
				return fmt.Errorf("%s is an event of a run that a class shares: it is there while the class is; ask for a recording of it", to)
			case to.File != "":
				return replayAt(ctx, io, to.File, to.Event, cfg)
			}
			more, err := from.sources()
			if err != nil {
				return err
			}
			all, err := lessons.Load(assets.Lessons(), panes.Names(), more...)
			if err != nil { // which keeps nobody from the other lessons
				if err := otherwise(io.err, all, []string{"open", to.Lesson}, err); err != nil {
					return err
				}
			}
			l, err := oneLesson(all, []string{to.Lesson})
			if err != nil {
				return err
			}
			cfg.Lesson, cfg.Says = beatOf(l, to)
			if cfg.Says != "" {
				fmt.Fprintf(io.err, "kviz: %s\n", cfg.Says)
			}
			s.sceneOf(l.Scene, own)
			return screen(ctx, io, &s, &endpoints{etcdPort: noPort}, more, &from, cfg)
		},
	}
}

// linkOf is where an argument leads: that of a file which has a link, a recording, or a link itself.
func linkOf(arg string) (link.Link, error) {
	f, err := os.Open(arg)
	if err != nil {
		return link.Parse(arg)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return link.Link{}, errors.Join(err, fmt.Errorf("%s is no file", arg))
	}
	head, err := io.ReadAll(io.LimitReader(f, link.Most+1))
	if err != nil {
		return link.Link{}, err
	}
	if strings.HasSuffix(arg, link.Ending) || bytes.IndexByte(head, 0) >= 0 {
		return link.Link{File: arg}, nil
	}
	to, err := link.Parse(string(head))
	if err != nil {
		return to, fmt.Errorf("%s: %w", arg, err)
	}
	if to.File != "" && !filepath.IsAbs(to.File) {
		to.File = filepath.Join(filepath.Dir(arg), to.File)
	}
	return to, nil
}

// beatOf is where a lesson begins for a link, and what there is to say of it: a lesson of another version may have other
// beats.
func beatOf(l *lessons.Lesson, to link.Link) (begin, says string) {
	if to.Version != 0 && to.Version != l.Version {
		says = fmt.Sprintf("the link is to version %d of %s; this is version %d", to.Version, l.ID, l.Version)
	}
	if to.Beat == "" {
		return l.ID, says
	}
	var known []string
	for _, step := range l.Steps {
		known = append(known, step.ID)
	}
	if slices.Contains(known, to.Beat) {
		return l.ID + "#" + to.Beat, says
	}
	beat := nearest.To(to.Beat, known)
	if beat == "" {
		beat = known[0]
	}
	if says == "" {
		says = l.ID
	} else {
		says += ", which"
	}
	return l.ID + "#" + beat, fmt.Sprintf("%s has no beat %q: the nearest is %q", says, to.Beat, beat)
}

// at has a recording opened at an event.
func at(cfg *tui.Config, stream *trace.Stream, id trace.ID) error {
	if id.IsZero() {
		return nil
	}
	if _, _, ok := stream.At(id); !ok {
		last := "it has none"
		if end := stream.Len(); end > 0 {
			if events, _, _ := stream.Read(end-1, 1); len(events) == 1 {
				last = "its last is #" + events[0].ID.String()
			}
		}
		return fmt.Errorf("%s has no event #%s: %s", cfg.Recording, id, last)
	}
	if !cfg.Plain {
		cfg.History.CatchUp(0) // it is not shown before it has come to the event
	}
	cfg.Moment = id
	return nil
}
