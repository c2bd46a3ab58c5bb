package tui

import (
	"context"
	"fmt"
	"io"
	"os"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/safe"
	"kviz/tui/words"
)

// runPlain writes one explained line an event, for pipes and screen readers:
// no cursor movement, no colour, the most important words first.
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
	for {
		events, next, lost := stream.Read(pos, 0)
		pos = next
		if lost > 0 {
			if _, err := fmt.Fprintf(out, "(%d events were too many to write)\n", lost); err != nil {
				return fmt.Errorf("writing the trace: %w", err)
			}
		}
		for _, e := range events {
			if err := PlainLine(out, e, cfg.PlainOutside); err != nil {
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

// PlainLine writes one event as a line: number, time, lane, sentence, causes.
func PlainLine(w io.Writer, e *trace.Event, outside bool) error {
	if e.Outside() && !outside {
		return nil
	}
	line := fmt.Sprintf("#%s %s %s: %s", e.ID, words.Clock(e.At), e.Lane, view.Explain(e))
	for i, c := range e.Causes {
		if i == 0 {
			line += " Because of"
		}
		line += " #" + c.String()
	}
	_, err := io.WriteString(w, grid.Clean(line)+"\n")
	return err
}
