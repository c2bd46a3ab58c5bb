// Package odds finds out when something became inevitable: it forks a run at some of its
// events, each time with other random choices from there on and without further input, and
// counts how often an expression comes true.
//
// Nothing in Kubernetes can ask this of a cluster. Start reading at [Ask].
package odds

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/cluster/expr"
	"kviz/cluster/trace"
)

// Question is what is asked.
type Question struct {
	Past   []*trace.Event // the run, from its beginning
	Expr   string
	At     []trace.ID    // the events to fork at, in order
	Seeds  int           // how many at each
	Within time.Duration // for how long of virtual time a branch goes on
	Beside int           // how many branches run at once
}

// Answer is how often the expression came true in the branches that left at one event.
type Answer struct {
	Event    *trace.Event
	True, Of int
}

// Share is the part in which it came true, from 0 to 1.
func (a Answer) Share() float64 { return float64(a.True) / float64(max(a.Of, 1)) }

// Progress is how far the asking is.
type Progress struct {
	Done, Of int // branches
	Took     time.Duration
}

// Choose picks at most n control-plane events from one to another, both included: those at
// which something was decided or written, evenly.
func Choose(past []*trace.Event, from, to uint64, n int) []trace.ID {
	var fit []trace.ID
	for _, e := range past {
		if e.Outside() || e.ID.Seq < from || e.ID.Seq > to {
			continue
		}
		if e.ID.Seq == from || e.ID.Seq == to || e.Kind == trace.StoreCommit || e.Kind == trace.CommandStart || e.Kind == trace.FaultInjected {
			fit = append(fit, e.ID)
		}
	}
	if len(fit) <= n || n < 2 {
		return fit
	}
	chosen := make([]trace.ID, n)
	for i := range chosen {
		chosen[i] = fit[i*(len(fit)-1)/(n-1)]
	}
	return chosen
}

// Ask runs the branches. The first of all goes to the last event and is compared with the
// run, so that all others need not be. tell is told after each branch, one at a time.
func Ask(ctx context.Context, q Question, tell func(Progress)) ([]Answer, error) {
	if _, err := expr.Compile(q.Expr); err != nil {
		return nil, err
	}
	if len(q.At) == 0 {
		return nil, errors.New("there is no event to fork at")
	}
	began := time.Now()
	bare := !cluster.MembersMatter(q.Past)
	c, err := cluster.Fork(ctx, q.Past, cluster.ForkConfig{At: q.At[len(q.At)-1], Bare: bare, Demand: true})
	if err != nil {
		return nil, err
	}
	if err := c.Close(); err != nil {
		return nil, err
	}
	answers := make([]Answer, len(q.At))
	for i, at := range q.At {
		answers[i].Event = find(q.Past, at)
	}
	type branch struct{ at, seed int }
	var (
		branches = make(chan branch)
		all      sync.WaitGroup
		mu       sync.Mutex // over what follows
		failed   error
		done     int
	)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for range max(q.Beside, 1) {
		all.Go(func() {
			for b := range branches {
				yes, err := q.branch(ctx, q.At[b.at], uint64(b.seed)+1, bare)
				mu.Lock()
				switch {
				case err != nil && failed == nil:
					failed = err
					stop()
				case err == nil:
					done++
					answers[b.at].Of++
					if yes {
						answers[b.at].True++
					}
					tell(Progress{Done: done, Of: len(q.At) * q.Seeds, Took: time.Since(began)})
				}
				mu.Unlock()
			}
		})
	}
	for n := 0; n < len(q.At)*q.Seeds && ctx.Err() == nil; n++ {
		select {
		case branches <- branch{n / q.Seeds, n % q.Seeds}:
		case <-ctx.Done():
		}
	}
	close(branches)
	all.Wait()
	if failed == nil {
		failed = ctx.Err()
	}
	return answers, failed
}

func find(past []*trace.Event, id trace.ID) *trace.Event {
	for _, e := range past {
		if e.ID == id {
			return e
		}
	}
	return nil
}

// branch reports whether the expression comes true in one branch.
func (q *Question) branch(ctx context.Context, at trace.ID, seed uint64, bare bool) (yes bool, err error) {
	c, err := cluster.Fork(ctx, q.Past, cluster.ForkConfig{At: at, Seed: &seed, Bare: bare, Demand: true, Unchecked: true})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := c.Resume(); err != nil {
		return false, err
	}
	quoted, err := syntax.Quote(q.Expr, syntax.LangBash)
	if err != nil {
		return false, err
	}
	var said strings.Builder
	exit := c.Exec(ctx, fmt.Sprintf("kviz wait --timeout %s %s", q.Within, quoted), control.Streams{Out: io.Discard, Err: &said, Source: "kviz odds"})
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case exit == 0:
		return true, nil
	case strings.Contains(said.String(), "timed out"):
		return false, nil
	}
	return false, fmt.Errorf("at #%s with seed %d: %s", at, seed, strings.TrimSpace(said.String()))
}
