package main

import (
	"context"
	"errors"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"

	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/cluster/odds"
	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui"
	tuiodds "kviz/tui/odds"
)

// branches runs runs again for the explorer, and ends what is left of them after it.
type branches struct {
	mu   sync.Mutex
	open []*cluster.Cluster
	errs []error // of those that have ended
	runs sync.WaitGroup
}

// Outlook implements [tui.Forker].
func (b *branches) Outlook(past []*trace.Event, at trace.ID) (control.ForkOutlook, error) {
	return cluster.Foresee(past, at)
}

// Fork implements [tui.Forker].
func (b *branches) Fork(ctx context.Context, f tui.Fork) (tui.Again, error) {
	b.runs.Add(1)
	defer b.runs.Done()
	cfg := cluster.ForkConfig{Parent: f.Of, At: f.At, Speed: f.Speed, Version: version(), Progress: f.Progress, Limit: roomFor(f.Past)}
	c, err := cluster.Fork(ctx, f.Past, cfg)
	if err != nil {
		return tui.Again{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open = append(b.open, c)
	return tui.Again{
		Cluster: c, History: view.NewHistory(c.Trace()),
		Save:  func(path string) error { return saveRecording(c, path, branchHeader(c, cfg)) },
		Close: freeing(func() error { return b.close(c) }),
	}, nil
}

// Odds implements [tui.Forker].
func (b *branches) Odds(ctx context.Context, q tui.Question) ([]tuiodds.Chance, error) {
	b.runs.Add(1)
	defer b.runs.Done()
	answers, err := odds.Ask(ctx, odds.Question{
		Past: q.Past, Expr: q.Expr, At: odds.Choose(q.Past, q.From, q.To, q.Events), Seeds: q.Seeds, Within: q.Within, Beside: runtime.GOMAXPROCS(0),
	}, func(p odds.Progress) { q.Progress(tui.OddsProgress{Done: p.Done, Of: p.Of, Took: p.Took}) })
	var chances []tuiodds.Chance
	for _, a := range answers {
		if a.Of > 0 { // else the question was given up before its turn
			chances = append(chances, tuiodds.Chance{Event: a.Event, True: a.True, Of: a.Of})
		}
	}
	return chances, err
}

// roomFor is how many events a branch keeps in memory: what it was before it was one too.
func roomFor(past []*trace.Event) int {
	if len(past) > trace.DefaultLimit/2 {
		return len(past) + trace.DefaultLimit
	}
	return 0
}

// freeing ends a cluster and gives its memory back: it is large, and its end may be the last that
// happens for a while, so that the collector would not run.
func freeing(end func() error) func() error {
	return func() error {
		defer debug.FreeOSMemory()
		return end()
	}
}

func (b *branches) close(c *cluster.Cluster) error {
	b.mu.Lock()
	i := slices.Index(b.open, c)
	if i >= 0 {
		b.open = slices.Delete(b.open, i, i+1)
	}
	b.mu.Unlock()
	if i < 0 {
		return nil
	}
	err := c.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.errs = append(b.errs, err)
	return err
}

// end ends those that are left, and reports on w what was wrong with any.
func (b *branches) end(w io.Writer) error {
	b.runs.Wait() // the explorer has ended, and so does what it asked for
	for {
		b.mu.Lock()
		if len(b.open) == 0 {
			break
		}
		c := b.open[0]
		b.mu.Unlock()
		broken(w, c, b.close(c))
	}
	defer b.mu.Unlock()
	return errors.Join(b.errs...)
}
