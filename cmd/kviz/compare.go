package main

import (
	"context"
	"fmt"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

func compareCommand() *command {
	var until time.Duration
	return &command{
		name: "compare", usage: "A B",
		short:   "two recordings side by side: the first event that differs, and its effects",
		long:    "Compares what kviz trace --hash covers, and sums both runs up to the same virtual time. Like diff, it ends with status 1 if the runs differ.",
		example: "kviz compare out.kvrun branch.kvrun",
		flags: func(f *pflag.FlagSet) {
			f.DurationVar(&until, "until", 0, "the virtual time up to which both are summed up (default: the earlier of their ends)")
		},
		run: func(_ context.Context, io streams, args []string) error {
			if len(args) != 2 {
				return &usageError{text: "name two recordings"}
			}
			if until < 0 {
				return &usageError{text: fmt.Sprintf("--until %s: time does not begin before 0", until)}
			}
			var runs [2][]*trace.Event
			for i, path := range args {
				var err error
				if runs[i], err = pastOf(io, path); err != nil {
					return err
				}
			}
			c, err := view.Compare(runs[0], runs[1], until)
			if err != nil {
				return err
			}
			printComparison(io, c, filepath.Base(args[0]), filepath.Base(args[1]))
			if c.Differs {
				return exitError(1)
			}
			return nil
		},
	}
}

// printComparison prints it as tables.
func printComparison(io streams, c *view.Comparison, a, b string) {
	if !c.Differs {
		fmt.Fprintf(io.out, "the same: %d control-plane events\n", c.Same)
	} else {
		fmt.Fprintf(io.out, "the same up to event #%d (%d control-plane events), then\n", c.Same, c.Same)
		for _, one := range []struct {
			name  string
			event *trace.Event
		}{{a, c.A.Next}, {b, c.B.Next}} {
			if one.event == nil {
				fmt.Fprintf(io.out, "  %s: nothing more\n", one.name)
				continue
			}
			fmt.Fprintf(io.out, "  %s: %s\n", one.name, trace.Line(one.event, view.Explain(one.event)))
		}
	}
	w := tabwriter.NewWriter(io.out, 0, 8, 3, ' ', 0)
	defer w.Flush()
	fmt.Fprintf(w, "\nWHAT CAME OF IT BY %s\t%s\t%s\n", rounded(c.Until), a, b)
	fmt.Fprintf(w, "the run ends at\t%s\t%s\n", rounded(c.A.End), rounded(c.B.End))
	fmt.Fprintf(w, "control-plane events\t%d\t%d\n", c.A.Events, c.B.Events)
	fmt.Fprintf(w, "writes that the store made\t%d\t%d\n", c.A.Commits, c.B.Commits)
	fmt.Fprintf(w, "refused by the store\t%d\t%d\n", c.A.StoreRefused, c.B.StoreRefused)
	fmt.Fprintf(w, "writes refused by the API server\t%d\t%d\n", c.A.Refused, c.B.Refused)
	fmt.Fprintf(w, "longest time without a write\t%s\t%s\n", gap(c.A), gap(c.B))
	fmt.Fprintf(w, "pods ready then\t%d\t%d\n", c.A.ReadyPods, c.B.ReadyPods)
	if len(c.Pods) > 0 {
		fmt.Fprintf(w, "\nPOD READY AFTER\t%s\t%s\n", a, b)
		for _, p := range c.Pods {
			fmt.Fprintf(w, "%s\t%s\t%s\n", p.Name, readyAfter(p.A), readyAfter(p.B))
		}
	}
}

func rounded(d time.Duration) string { return d.Round(time.Millisecond).String() }

func gap(s view.Outcome) string {
	if s.Gap == 0 {
		return "-"
	}
	return fmt.Sprintf("%s from #%s", rounded(s.Gap), s.GapFrom)
}

func readyAfter(p view.PodReady) string {
	switch {
	case !p.Seen:
		return "-"
	case p.After == 0:
		return "never"
	}
	return rounded(p.After)
}
