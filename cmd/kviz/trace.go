package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"kviz/cluster/console"
	"kviz/cluster/trace"
	"kviz/cluster/view"
)

func traceCommand() *command {
	var (
		hash    bool
		outside bool
		why     string
		kind    string
	)
	return &command{
		name: "trace", usage: "FILE [flags]",
		short: "a recording as text, one event a line",
		long: `--hash prints one line that is the same for two runs whose control planes did the same.
--why N prints what led to event N, link by link.`,
		example: "kviz trace out.kvrun --why 214",
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&hash, "hash", false, "print only the hash of the control-plane events")
			f.BoolVar(&outside, "raft", false, "include the raft and wall-clock lanes")
			f.StringVar(&why, "why", "", "print the causes of this event `NUMBER`")
			f.StringVar(&kind, "kind", "", "only events of this `KIND` (store.commit, …)")
		},
		run: func(_ context.Context, io streams, args []string) error {
			if len(args) != 1 {
				return &usageError{text: "name one recording"}
			}
			if err := mustExist(args[0]); err != nil {
				return err
			}
			if kind != "" && !trace.Kind(kind).Known() {
				return &usageError{text: unknownKind(kind)}
			}
			_, events, err := trace.ReadAll(args[0])
			if err != nil && !errors.Is(err, trace.ErrTruncated) {
				return err
			}
			if err != nil {
				fmt.Fprintf(io.err, "kviz: %v; what came before that follows\n", err)
			}
			switch {
			case hash:
				h, err := trace.Hash(events)
				if err != nil {
					return err
				}
				fmt.Fprintln(io.out, h)
				return nil
			case why != "":
				if events, err = causes(events, why); err != nil {
					return err
				}
				outside = true
			}
			var shown []*trace.Event
			for _, e := range events {
				if (outside || !e.Outside()) && (kind == "" || e.Kind == trace.Kind(kind)) {
					shown = append(shown, e)
				}
			}
			return trace.Text(io.out, shown, view.Explain)
		},
	}
}

// causes is the chain from an event back to what started it, the event first;
// of several causes the newest is followed.
func causes(events []*trace.Event, number string) ([]*trace.Event, error) {
	id, err := trace.ParseID(number)
	if err != nil {
		return nil, err
	}
	byID := make(map[trace.ID]*trace.Event, len(events))
	for _, e := range events {
		byID[e.ID] = e
	}
	if byID[id] == nil {
		text := fmt.Sprintf("there is no event #%s in this recording", id)
		if len(events) > 0 {
			text += fmt.Sprintf("; it has #%s to #%s", events[0].ID, events[len(events)-1].ID)
		}
		return nil, errors.New(text)
	}
	var chain []*trace.Event
	for e := byID[id]; e != nil; {
		chain = append(chain, e)
		if len(e.Causes) == 0 {
			break
		}
		e = byID[e.Causes[len(e.Causes)-1]]
	}
	return chain, nil
}

func unknownKind(kind string) string {
	var names []string
	for _, k := range trace.Kinds() {
		names = append(names, string(k.Kind))
	}
	text := fmt.Sprintf("unknown event kind %q", kind)
	if near := console.Nearest(kind, names); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return text
}
