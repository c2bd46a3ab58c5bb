package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"kviz/cluster/odds"
	"kviz/cluster/trace"
	"kviz/cluster/view"
)

func oddsCommand() *command {
	var (
		at     string
		seeds  int
		points int
		within time.Duration
	)
	return &command{
		name: "odds", usage: "EXPR FILE [flags]",
		short: "when did it become inevitable: how often EXPR comes true in branches of a recorded run",
		long: `kviz forks the run at some of its events, at each with --seeds other seeds. Each branch goes on without input until EXPR
is true (kviz help time) or its time is over. The curve shows from which event on EXPR could no longer be avoided. The
branches use the bare store, unless the run has faults of members or of the store. ctrl-C ends it.`,
		example: `kviz odds --at 2900..3400 --seeds 30 'object("deployments", "demo", "web").status.availableReplicas < 3' out.kvrun`,
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&at, "at", "", "from which event to which, `M..N` (default: the whole run)")
			f.IntVar(&seeds, "seeds", 30, "how many branches at each event")
			f.IntVar(&points, "events", 12, "at how many events, at most")
			f.DurationVar(&within, "for", time.Minute, "how long a branch goes on, in virtual time")
		},
		run: func(ctx context.Context, io streams, args []string) error {
			if len(args) != 2 {
				return &usageError{text: "give an expression and name one recording"}
			}
			if seeds < 1 || points < 1 || within <= 0 {
				return &usageError{text: "--seeds, --events and --for: want more than nothing"}
			}
			past, err := pastOf(io, args[1])
			if err != nil {
				return err
			}
			from, to, err := eventRange(at, past)
			if err != nil {
				return err
			}
			remove, err := scratch()
			if err != nil {
				return err
			}
			defer remove()
			q := odds.Question{Past: past, Expr: args[0], At: odds.Choose(past, from, to, points), Seeds: seeds, Within: within, Beside: runtime.GOMAXPROCS(0)}
			answers, err := odds.Ask(ctx, q, oddsProgress(io))
			if err != nil {
				return err
			}
			fmt.Fprintf(io.out, "how probable it was that %s within %s, %d branches at each event\n\n", args[0], within, seeds)
			for _, a := range answers {
				fmt.Fprintln(io.out, oddsRow(a))
			}
			return nil
		},
	}
}

const oddsCells = 24

func oddsRow(a odds.Answer) string {
	full := int(a.Share()*oddsCells + 0.5)
	return fmt.Sprintf("%8s %9.3fs  %s%s %4.2f  %s: %s", "#"+a.Event.ID.String(), a.Event.At.Seconds(),
		strings.Repeat("█", full), strings.Repeat("·", oddsCells-full), a.Share(), a.Event.Kind, view.Explain(a.Event))
}

// oddsProgress tells how far it is, where there is a terminal.
func oddsProgress(io streams) func(odds.Progress) {
	file, ok := io.err.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return func(odds.Progress) {}
	}
	return func(p odds.Progress) {
		left := time.Duration(float64(p.Took) / float64(p.Done) * float64(p.Of-p.Done)).Round(time.Second)
		fmt.Fprintf(file, "\r\x1b[K%d of %d branches, about %s more", p.Done, p.Of, left)
		if p.Done == p.Of {
			fmt.Fprint(file, "\r\x1b[K")
		}
	}
}

// eventRange reads M..N; "" is the whole run.
func eventRange(text string, past []*trace.Event) (from, to uint64, err error) {
	last := uint64(1)
	if len(past) > 0 {
		last = past[len(past)-1].ID.Seq
	}
	if text == "" {
		return 1, last, nil
	}
	a, b, two := strings.Cut(text, "..")
	if !two {
		b = a
	}
	if from, err = strconv.ParseUint(strings.TrimPrefix(a, "#"), 10, 64); err == nil {
		to, err = strconv.ParseUint(strings.TrimPrefix(b, "#"), 10, 64)
	}
	if err != nil || from == 0 || to < from || to > last {
		return 0, 0, &usageError{text: fmt.Sprintf("--at %q: want M..N, two events of the run, which has #1 to #%d", text, last)}
	}
	return from, to, nil
}
