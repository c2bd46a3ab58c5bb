package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"kviz/cluster"
	"kviz/cluster/console"
	"kviz/cluster/control"
	"kviz/cluster/nearest"
)

func runCommand() *command {
	var s shape
	return &command{
		name: "run", usage: "FILE [flags]",
		short: "run a console script against a fresh cluster, without a screen",
		long: `The script is a shell script with the console's commands: kubectl, on NODE,
kviz wait, kviz fault …, and text tools (grep, sed, awk, jq …). It stops at the first command that fails.
The same seed and script give the same trace.`,
		example: "kviz run --seed 7 --trace out.kvrun scenario.sh",
		flags:   func(f *pflag.FlagSet) { s.register(f, "max", fixedEpoch) },
		run: func(ctx context.Context, io streams, args []string) error {
			if len(args) != 1 {
				return &usageError{text: "name one script"}
			}
			if _, err := s.config(true); err != nil {
				return err
			}
			if err := mustExist(args[0]); err != nil {
				return err
			}
			return headless(ctx, io, &s, func(ctx context.Context, c *cluster.Cluster) error {
				return c.Console().RunFile(ctx, args[0], control.Streams{In: io.in, Out: io.out, Err: io.err})
			}, "run "+filepath.Base(args[0]))
		},
	}
}

// headless boots a cluster for a script, does do when it is ready, and tells
// how it ended.
func headless(ctx context.Context, io streams, s *shape, do func(context.Context, *cluster.Cluster) error, input string) error {
	cfg, err := s.config(true)
	if err != nil {
		return err
	}
	c, end, err := s.boot(ctx, cfg, input)
	if err != nil {
		return err
	}
	if err = c.WaitReady(ctx); err == nil {
		err = do(ctx, c)
	}
	endErr := end()
	broken(io.err, c, endErr)
	var failed *console.ScriptError
	switch {
	case errors.As(err, &failed):
		fmt.Fprintf(io.err, "kviz: %v (seed %d)\n", failed, s.seed)
		return errors.Join(exitError(max(failed.Exit, 1)), endErr)
	case err != nil:
		return err
	}
	return endErr
}

// mustExist refuses a file that is not there, naming one that is and that was
// likely meant.
func mustExist(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		return nil
	}
	if err == nil {
		return fmt.Errorf("%s is a directory", path)
	}
	var names []string
	entries, _ := os.ReadDir(filepath.Dir(path))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	text := fmt.Sprintf("%s: no such file", path)
	if near := nearest.To(filepath.Base(path), names); near != "" {
		text += fmt.Sprintf("; did you mean %s?", strings.TrimPrefix(filepath.Join(filepath.Dir(path), near), "./"))
	}
	return errors.New(text)
}
