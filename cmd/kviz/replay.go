package main

import (
	"context"
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
			if err := mustExist(args[0]); err != nil {
				return err
			}
			events, _, err := readRecording(io, args[0])
			if err != nil {
				return err
			}
			stream := trace.NewStream(len(events) + 1)
			for _, e := range events {
				stream.Append(e)
			}
			return tui.Run(ctx, tui.Config{History: view.NewHistory(stream), Recording: filepath.Base(args[0]), Theme: theme, Plain: plain})
		},
	}
}
