// Command kviz is a debugger for Kubernetes: a whole cluster in one process,
// to watch, pause, step, break, and learn from.
//
// This folder has flags, subcommands and wiring, one file a subcommand, and
// nothing else. Each subcommand is a value of type command; commands lists
// those that there are.
//
// Start reading at [Main], then the file of a subcommand.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kviz/assets"
	"kviz/cluster/console/verbs"
	"kviz/cluster/nearest"
	"kviz/raftstore/host"
)

// command is one subcommand.
type command struct {
	name    string
	usage   string // after the name: "FILE [flags]"
	short   string // one line
	long    string // what help says after it; may be ""
	example string
	// raw commands get their arguments as they are, flags and all.
	raw   bool
	flags func(*pflag.FlagSet)
	run   func(ctx context.Context, io streams, args []string) error
}

// streams are the process's.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// commands are made again for each run, for their flags are variables of theirs.
func commands() []*command {
	return []*command{
		exploreCommand(), runCommand(), shCommand(), kubectlCommand(), etcdctlCommand(), etcdutlCommand(), serveCommand(), envCommand(), memberCommand(), presentCommand(), notesCommand(), classCommand(),
		replayCommand(), markCommand(), openCommand(), traceCommand(), forkCommand(), compareCommand(), oddsCommand(), lessonCommand(), benchCommand(), versionCommand(), completionCommand(), manCommand(),
	}
}

func main() {
	os.Exit(Main())
}

// Main is the whole program; it gives the exit status.
func Main() int {
	collectGarbage()
	// Who reads has seen enough (kviz trace | head): a write then fails, and the
	// cluster is closed in order, its recording and directories too.
	signal.Ignore(syscall.SIGPIPE)
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup means that a closed terminal is no end
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := ended(ends)
	defer stop()
	return dispatch(ctx, streams{os.Stdin, os.Stdout, os.Stderr}, os.Args[1:])
}

// ended is a context that ends with one of the signals, except for the interrupt that the
// keys of a terminal send to all its programs while another one than kviz has it.
func ended(ends []os.Signal) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, ends...)
	go func() {
		for s := range signals {
			if s != os.Interrupt || !interrupts.others() {
				cancel()
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel()
	}
}

// exitError is an end with an exit status and nothing more to say.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// usageError is a wrong use; help is offered after it.
type usageError struct {
	text    string
	command string // "" for kviz itself
}

func (e *usageError) Error() string { return e.text }

// dispatch runs the subcommand that args name; without one, the explorer.
func dispatch(ctx context.Context, io streams, args []string) int {
	err := find(ctx, io, args)
	var (
		exit  exitError
		usage *usageError
	)
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return int(exit)
	case errors.As(err, &usage):
		fmt.Fprintf(io.err, "kviz: %s\nSee %s.\n", usage.text, strings.TrimSpace("kviz help "+usage.command))
		return 2
	case errors.Is(err, context.Canceled):
		return 130
	case host.NobodyReads(err):
		return 0 // nobody reads any more
	}
	fmt.Fprintf(io.err, "kviz: %v\n", err)
	return 1
}

func find(ctx context.Context, io streams, args []string) error {
	all := commands()
	if len(args) == 0 {
		return start(ctx, io)
	}
	switch args[0] {
	case "help", "-h", "--help":
		if len(args) > 1 {
			c, err := named(all, args[1])
			if text, pageErr := verbs.Page(assets.Docs(), args[1]); err != nil && pageErr == nil {
				fmt.Fprint(io.out, text)
				return nil
			}
			if err != nil {
				return err
			}
			printHelp(io.out, c)
			return nil
		}
		printOverview(io.out, all)
		return nil
	case cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd:
		return complete(io, args)
	case "--version":
		args[0] = "version"
	}
	c, err := named(all, args[0])
	if err != nil {
		return err
	}
	return invoke(ctx, io, c, args[1:])
}

// named finds a command, or says which one was likely meant.
func named(all []*command, name string) (*command, error) {
	var names []string
	for _, c := range all {
		if c.name == name {
			return c, nil
		}
		names = append(names, c.name)
	}
	what := "command"
	if strings.HasPrefix(name, "-") {
		what = "flag"
	}
	text := fmt.Sprintf("unknown %s %q", what, name)
	if near := nearest.To(name, names); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return nil, &usageError{text: text}
}

// invoke reads a command's flags and runs it.
func invoke(ctx context.Context, io streams, c *command, args []string) error {
	if c.raw {
		return c.run(ctx, io, args)
	}
	flags := flagsOf(c)
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			printHelp(io.out, c)
			return nil
		}
		return &usageError{text: c.name + ": " + err.Error() + nearFlag(flags, err), command: c.name}
	}
	err := c.run(ctx, io, flags.Args())
	var usage *usageError
	if errors.As(err, &usage) && usage.command == "" {
		usage.command, usage.text = c.name, c.name+": "+usage.text
	}
	return err
}

func flagsOf(c *command) *pflag.FlagSet {
	flags := pflag.NewFlagSet(c.name, pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	if c.flags != nil {
		c.flags(flags)
	}
	return flags
}

// nearFlag is a hint after an unknown flag.
func nearFlag(flags *pflag.FlagSet, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return ""
	}
	var names []string
	flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := nearest.To(unknown.GetSpecifiedName(), names); near != "" {
		return fmt.Sprintf("; did you mean --%s?", near)
	}
	return ""
}

func printOverview(w io.Writer, all []*command) {
	fmt.Fprint(w, "kviz is a debugger for Kubernetes: a whole cluster in one process.\n\nUsage: kviz [command]\n\n")
	for _, c := range all {
		fmt.Fprintf(w, "  %-10s %s\n", c.name, c.short)
	}
	fmt.Fprint(w, "\nkviz alone opens the explorer; --motion none (or NO_MOTION in the environment) keeps its picture still, calm lets nothing\n"+
		"travel, and NO_COLOR takes its colours away. kviz help COMMAND tells more, kviz help TOPIC shows a page:\n")
	for _, t := range verbs.Topics(assets.Docs()) {
		fmt.Fprintf(w, "  %-12s %s\n", t.Name, t.Title)
	}
}

func printHelp(w io.Writer, c *command) {
	fmt.Fprintf(w, "%s\n\nUsage: kviz %s\n", c.short, strings.TrimSpace(c.name+" "+c.usage))
	if c.long != "" {
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(c.long))
	}
	if c.example != "" {
		fmt.Fprintf(w, "\nExample:\n  %s\n", strings.ReplaceAll(strings.TrimSpace(c.example), "\n", "\n  "))
	}
	if c.flags != nil {
		if text := flagsOf(c).FlagUsages(); text != "" {
			fmt.Fprintf(w, "\nFlags:\n%s", text)
		}
	}
}

// released is the version that a release is built with (go build -ldflags -X).
var released string

// version is the version of this program: that of the release, else a tag when it was
// built from one, else the commit.
func version() string {
	if released != "" {
		return released
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	commit, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	if commit == "" {
		return "devel"
	}
	return commit + dirty
}
