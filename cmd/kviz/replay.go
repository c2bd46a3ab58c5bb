package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/spf13/pflag"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui"
	"kviz/tui/class/walk"
	"kviz/tui/panes"
	"kviz/tui/stage"
)

func replayCommand() *command {
	var (
		l     look
		lines plainLook
	)
	return &command{
		name: "replay", usage: "FILE [flags]",
		short:   "a recording in the explorer; no cluster is needed",
		example: "kviz replay out.kvrun",
		flags: func(f *pflag.FlagSet) {
			l.register(f)
			lines.register(f, "")
		},
		run: func(ctx context.Context, io streams, args []string) error {
			if len(args) != 1 {
				return &usageError{text: "name one recording"}
			}
			cfg := l.config()
			if err := lines.into(&cfg); err != nil {
				return err
			}
			return replay(ctx, io, args[0], cfg)
		},
	}
}

// replay opens a recording in the explorer, which looks as cfg says.
func replay(ctx context.Context, io streams, path string, cfg tui.Config) error {
	return replayAt(ctx, io, path, trace.ID{}, cfg)
}

// replayAt is [replay] at an event; zero is where recordings are opened.
func replayAt(ctx context.Context, io streams, path string, id trace.ID, cfg tui.Config) error {
	if err := errors.Join(knownLook(cfg), mustExist(path)); err != nil {
		return err
	}
	events, damage, err := readRecording(io, path)
	if err != nil {
		return err
	}
	stream := trace.NewStream(len(events) + 1)
	for _, e := range events {
		stream.Append(e)
	}
	remove, err := scratch() // of branches
	if err != nil {
		return err
	}
	defer remove()
	forks := &branches{}
	cfg.History, cfg.Recording, cfg.Damage = view.NewHistory(stream), filepath.Base(path), damage
	cfg.Forks, cfg.Lend, cfg.File = forks, io.lend(), cfg.Recording
	if cfg.Marks, err = walk.Open(path, stage.Pictures(panes.All)); err != nil && !cfg.Plain {
		return err
	}
	if err := at(&cfg, stream, id); err != nil {
		return err
	}
	err = tui.Run(ctx, cfg)
	err = errors.Join(err, forks.end(io.err))
	if err == nil && cfg.Plain && damage != nil {
		return exitError(1) // as kviz trace ends
	}
	return err
}
