package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"kviz/cluster/console/verbs"
	"kviz/cluster/fault"
	"kviz/cluster/nearest"
	"kviz/cluster/trace"
	"kviz/cluster/view"
)

func traceCommand() *command {
	var (
		hash    bool
		full    bool
		outside bool
		why     string
		kind    string
	)
	return &command{
		name: "trace", usage: "FILE [flags]",
		short: "a recording as text, one event a line",
		long: `--hash prints one line; two runs whose control planes did the same have the same hash.
--why N prints what led to event N as a tree, down to the first commands and faults.`,
		example: "kviz trace out.kvrun --why 214",
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&hash, "hash", false, "print only the hash of the control-plane events")
			f.BoolVar(&outside, "raft", false, "include the raft and wall-clock lanes")
			f.StringVar(&why, "why", "", "print the causes of this event `NUMBER`")
			f.BoolVar(&full, "full", false, "with --why: pipeline stages, caches and queues too")
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
			events, damage, err := readRecording(io, args[0])
			if err != nil {
				return err
			}
			switch {
			case hash:
				if damage != nil {
					return damage // a hash of a part would be compared with that of a whole
				}
				h, err := trace.Hash(events)
				if err != nil {
					return err
				}
				fmt.Fprintln(io.out, h)
				return nil
			case why != "":
				links, err := causes(events, why)
				if err != nil {
					return err
				}
				verbs.WriteWhy(io.out, links, full)
				if damage != nil {
					return exitError(1)
				}
				return nil
			}
			var shown []*trace.Event
			for _, e := range events {
				if (outside || !e.Outside()) && (kind == "" || e.Kind == trace.Kind(kind)) {
					shown = append(shown, e)
				}
			}
			if err := trace.Text(io.out, shown, view.Explain); err != nil {
				return err
			}
			if damage != nil {
				return exitError(1)
			}
			return nil
		},
	}
}

// readRecording reads what can be read. A recording that breaks off or is
// damaged is good up to there: damage then says what is wrong, and has been
// printed.
func readRecording(io streams, path string) (events []*trace.Event, damage, err error) {
	_, events, err = trace.ReadAll(path)
	fault.Complete(events)
	if err == nil || len(events) == 0 || !errors.Is(err, trace.ErrTruncated) && !errors.Is(err, trace.ErrDamaged) {
		return events, nil, err
	}
	fmt.Fprintf(io.err, "kviz: %v; what came before that is shown\n", err)
	return events, err, nil
}

// causes is the answer to why an event happened.
func causes(events []*trace.Event, number string) ([]view.Link, error) {
	id, err := trace.ParseID(number)
	if err != nil {
		return nil, err
	}
	stream := trace.NewStream(len(events) + 1)
	for _, e := range events {
		stream.Append(e)
	}
	if _, _, ok := stream.At(id); !ok {
		return nil, errors.New(verbs.NoEvent(stream, id, "in this recording"))
	}
	return view.NewHistory(stream).Why(id), nil
}

func unknownKind(kind string) string {
	var names []string
	for _, k := range trace.Kinds() {
		names = append(names, string(k.Kind))
	}
	text := fmt.Sprintf("unknown event kind %q", kind)
	if near := nearest.To(kind, names); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return text
}
