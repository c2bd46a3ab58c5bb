package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/spf13/pflag"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui"
)

func replayCommand() *command {
	var (
		theme string
		plain bool
	)
	return &command{
		name: "replay", usage: "FILE [flags]",
		short:   "a recording in the explorer; no cluster is needed",
		example: "kviz replay out.kvrun",
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&theme, "theme", "", "dark, light, 16 or none (default: what the terminal has)")
			f.BoolVar(&plain, "plain", false, "one explained line an event instead of a screen")
		},
		run: func(ctx context.Context, io streams, args []string) error {
			if len(args) != 1 {
				return &usageError{text: "name one recording"}
			}
			return replay(ctx, io, args[0], theme, plain)
		},
	}
}

// replay opens a recording in the explorer.
func replay(ctx context.Context, io streams, path, theme string, plain bool) error {
	if err := errors.Join(knownTheme(theme), mustExist(path)); err != nil {
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
	err = tui.Run(ctx, tui.Config{
		History: view.NewHistory(stream), Recording: filepath.Base(path), Damage: damage, Theme: theme, Plain: plain,
		Forks: forks, Lend: io.lend(),
	})
	err = errors.Join(err, forks.end(io.err))
	if err == nil && plain && damage != nil {
		return exitError(1) // as kviz trace ends
	}
	return err
}
