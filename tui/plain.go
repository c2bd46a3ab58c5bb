package tui

import (
	"context"
	"fmt"
	"io"
	"os"

	"kviz/cluster/view"
	"kviz/tui/safe"
)

// runPlain writes one explained line an event, for pipes and screen readers:
// no cursor movement, no colour, the most important words first. What the picture shows beside
// single events is told in lines of its own (narrator).
func runPlain(ctx context.Context, cfg Config) error {
	out := cfg.Output
	if out == nil {
		out = os.Stdout
	}
	group := safe.NewGroup(func() {})
	ended := make(chan error, 1)
	if cfg.Booting != nil && cfg.Cluster == nil {
		group.Go(func() {
			_, err := cfg.Booting(ctx, func(string) {})
			if err != nil {
				ended <- fmt.Errorf("the cluster could not start: %w", err)
			}
		})
	}
	stream := cfg.History.Stream()
	changed, stop := stream.Notify()
	defer stop()
	pos := stream.Oldest()
	history := cfg.History
	if cfg.Following { // somebody else folds it, further than what is written
		history = view.NewHistory(stream)
	}
	tells := newNarrator()
	for {
		events, next, lost := stream.Read(pos, 0)
		pos = next
		if lost > 0 {
			if _, err := fmt.Fprintf(out, "(%d events were too many to write)\n", lost); err != nil {
				return fmt.Errorf("writing the trace: %w", err)
			}
		}
		for _, e := range events {
			history.CatchUp(1)
			if _, err := io.WriteString(out, tells.line(e, history.Latest(), cfg.PlainOutside)); err != nil {
				return fmt.Errorf("writing the trace: %w", err)
			}
		}
		if len(events) > 0 {
			continue
		}
		if cfg.Recording != "" {
			return nil
		}
		select {
		case <-changed:
		case err := <-ended:
			return err
		case <-ctx.Done():
			return crashOf(group)
		}
		if err := crashOf(group); err != nil {
			return err
		}
	}
}

func crashOf(g *safe.Group) error {
	if c := g.Crash(); c != nil {
		return c
	}
	return nil
}
