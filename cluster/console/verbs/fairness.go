package verbs

import (
	"context"
	"fmt"
	"strconv"
	"text/tabwriter"

	"kviz/cluster/apiserver/fairness"
	"kviz/cluster/sim"
)

// concurrencyVerb is kviz apiserver concurrency: how many requests the API server
// serves at once, and how they are shared out.
func concurrencyVerb(ctx context.Context, inv *use, args []string) int {
	total := 0
	if len(args) == 1 {
		n, err := strconv.Atoi(args[0])
		if err != nil {
			return inv.badUse()
		}
		total = n
	} else if len(args) > 1 {
		return inv.badUse()
	}
	var levels []fairness.State
	if err := inv.onServer(ctx, "concurrency", func(t *sim.Task, s APIServer) (err error) {
		if len(args) == 1 {
			err = s.Requests.SetConcurrency(t, total)
		}
		total, levels = s.Requests.Concurrency()
		return err
	}); err != nil {
		return inv.did(err)
	}
	fmt.Fprintf(inv.Out, "requests served at once: %d\n", total)
	w := tabwriter.NewWriter(inv.Out, 0, 8, 3, ' ', 0)
	fmt.Fprintln(w, "PRIORITY LEVEL\tSEATS\tSHARE\tBORROWED\tIN USE\tQUEUES\tWAITING\tSERVED\tREJECTED")
	for _, l := range levels {
		seats, share, borrowed := strconv.Itoa(l.Limit), strconv.Itoa(l.Nominal), strconv.Itoa(l.Borrowed())
		if l.Exempt {
			seats, share, borrowed = "no limit", "", ""
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\n", l.Level, seats, share, borrowed, l.InUse, l.Queues, l.Waiting, l.Dispatched, l.Rejected)
	}
	return inv.did(w.Flush())
}

// stormVerb is kviz apiserver storm: a user whose programs ask all at once.
func stormVerb(ctx context.Context, inv *use, args []string) int {
	n := 100
	if len(args) == 2 {
		m, err := strconv.Atoi(args[1])
		if err != nil || m < 1 || m > 10_000 {
			return inv.did(fmt.Errorf("%q: a storm has 1 to 10000 requests", args[1]))
		}
		n = m
	}
	if len(args) < 1 || len(args) > 2 {
		return inv.badUse()
	}
	var answered, rejected int
	err := inv.onServer(ctx, "storm", func(t *sim.Task, s APIServer) error {
		answered, rejected = s.Requests.Storm(t, args[0], n)
		return nil
	})
	if err == nil {
		fmt.Fprintf(inv.Out, "%d requests of %s: %d answered, %d turned down with 429\n", n, args[0], answered, rejected)
	}
	return inv.did(err)
}
