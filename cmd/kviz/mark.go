package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"kviz/cluster/console/verbs"
	"kviz/cluster/trace"
	"kviz/lessons/link"
	"kviz/tui/class/walk"
	"kviz/tui/grid"
	"kviz/tui/panes"
	"kviz/tui/stage"
)

func markCommand() *command {
	m := &marking{}
	return &command{
		name: "mark", usage: "FILE[#EVENT|#FROM..TO] [WORDS] [flags]",
		short: "set a mark in a recording, for kviz present FILE; without an event, list the marks",
		long: `A mark is an event, the pane that shows it, a place with a ring, and a sentence. kviz present FILE goes from mark to
mark and plays what happens between them; with FROM..TO only those events are played. M in kviz replay sets
marks too. They are kept in FILE.marks, a text file that you can edit.`,
		example: "kviz mark run.kvrun#8841 --show store/logs --spot store:member/b 'b has two votes of three.'\nkviz mark run.kvrun",
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&m.show, "show", "", "the pane, and its view: store/logs (default: what the mark before shows)")
			f.StringArrayVar(&m.spots, "spot", nil, "a place on it with a ring: store:member/b; twice for two")
			f.StringVar(&m.big, "big", "", "a word or two for the projector, in the large")
			f.StringVar(&m.note, "note", "", "what kviz notes shows you alone")
			f.IntVar(&m.remove, "remove", 0, "take the mark of this `NUMBER` away, as the list counts them")
		},
		run: func(_ context.Context, io streams, args []string) error {
			switch {
			case len(args) == 0:
				return &usageError{text: "name one recording, and an event of it: run.kvrun#8841", command: "mark"}
			case len(args) > 2:
				return &usageError{text: "put the words into quotes: they are one sentence", command: "mark"}
			}
			return m.run(io, args)
		},
	}
}

// marking are the flags of kviz mark.
type marking struct {
	show, big, note string
	spots           []string
	remove          int
}

func (m *marking) run(io streams, args []string) error {
	file, event := args[0], ""
	if i := strings.Index(file, link.Ending+"#"); i >= 0 {
		file, event = file[:i+len(link.Ending)], file[i+len(link.Ending)+1:]
	} else if name, at, cut := strings.Cut(file, "#"); cut {
		file, event = name, at
	}
	if err := mustExist(file); err != nil {
		return err
	}
	marks, err := walk.Open(file, stage.Pictures(panes.All))
	if err != nil {
		return err
	}
	switch {
	case m.remove > 0:
		return marks.Remove(m.remove - 1)
	case event == "" && len(args) == 2:
		return &usageError{text: "say which event the mark is at: " + file + "#8841", command: "mark"}
	case event == "":
		listOf(io.out, marks.All())
		return nil
	}
	one := walk.Mark{Show: m.show, Spots: m.spots, Big: m.big, Note: m.note}
	if one.From, one.At, err = walk.Span(event); err != nil {
		return &usageError{text: err.Error(), command: "mark"}
	}
	if len(args) == 2 {
		one.Say = args[1]
	}
	if err := inRecording(io, file, one.From, one.At); err != nil {
		return err
	}
	return marks.Set(one)
}

// inRecording refuses events that a recording has not.
func inRecording(io streams, file string, ids ...trace.ID) error {
	events, _, err := readRecording(io, file)
	if err != nil {
		return err
	}
	stream := trace.NewStream(len(events) + 1)
	for _, e := range events {
		stream.Append(e)
	}
	for _, id := range ids {
		if _, _, ok := stream.At(id); !ok && !id.IsZero() {
			return fmt.Errorf("%s: %s", file, verbs.NoEvent(stream, id, "in this recording"))
		}
	}
	return nil
}

// listOf writes marks, a line each.
func listOf(w io.Writer, all []walk.Mark) {
	if len(all) == 0 {
		fmt.Fprintln(w, "no marks are set")
	}
	for i, m := range all {
		fmt.Fprintln(w, grid.Clean(strings.TrimRight(fmt.Sprintf("%3d  #%-9s %-14s %s", i+1, m.At, m.Show, m.Title()), " ")))
	}
}
