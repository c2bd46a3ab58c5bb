package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"kviz/cluster"
	"kviz/cluster/control"
)

func shCommand() *command {
	var (
		s    shape
		line string
	)
	return &command{
		name: "sh", usage: "[-c COMMAND] [flags]",
		short: "the console of a fresh cluster, without the explorer",
		long: `Without -c, it reads lines from standard input. The commands are kubectl, kviz (pause, step, wait, why …),
on NODE COMMAND, and text tools (grep, sed, awk, jq, xargs …). Time passes only while a command waits
for something.`,
		example: `kviz sh -c 'kubectl get nodes'`,
		flags: func(f *pflag.FlagSet) {
			s.register(f, "max", fixedEpoch)
			f.StringVarP(&line, "command", "c", "", "run this and end")
		},
		run: func(ctx context.Context, io streams, args []string) error {
			if len(args) > 0 {
				return &usageError{text: fmt.Sprintf("unexpected %q; a command goes after -c, in quotes", strings.Join(args, " "))}
			}
			return headless(ctx, io, &s, func(ctx context.Context, c *cluster.Cluster) error {
				if line != "" {
					return c.Console().RunScript(ctx, "-c", line, control.Streams{In: io.in, Out: io.out, Err: io.err, Lend: io.lend()})
				}
				return interact(ctx, io, c)
			}, "sh "+line)
		},
	}
}

// interact runs lines from standard input until it ends.
func interact(ctx context.Context, streams streams, c *cluster.Cluster) error {
	f, ok := streams.in.(*os.File)
	prompt := ok && term.IsTerminal(int(f.Fd()))
	if !prompt {
		text, err := io.ReadAll(streams.in)
		if err != nil {
			return err
		}
		return c.Console().RunScript(ctx, "stdin", string(text), control.Streams{Out: streams.out, Err: streams.err})
	}
	in := bufio.NewReader(streams.in)
	for {
		fmt.Fprint(streams.err, "kviz> ")
		line, err := in.ReadString('\n')
		if strings.TrimSpace(line) == "exit" {
			return nil
		}
		if strings.TrimSpace(line) != "" {
			c.Exec(ctx, line, control.Streams{Out: streams.out, Err: streams.err, Source: "console", Lend: streams.lend()})
		}
		switch {
		case errors.Is(err, io.EOF):
			fmt.Fprintln(streams.err)
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}
