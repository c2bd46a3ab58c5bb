package object

import (
	"cmp"
	"fmt"
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// drawCalls draws what was asked of the storage driver about the disk of a claim or volume, also of one that could not be
// made, or is deleted: each call with its time, its node, how long it took and its error, the newest last. What is said
// of the object beside does not have to be said twice.
func drawCalls(s *pane.Sheet, f *pane.Frame, y int, of *view.Object, said string) int {
	d := f.S.DiskOf(of)
	if d == nil || len(d.Calls) == 0 {
		return y
	}
	about := d.ID
	switch {
	case d.ID == "":
		about = "a disk that it has not made"
	case d.Gone:
		about += ", which it has deleted"
	}
	list, note := tries(d.Calls), "of the storage driver about "+about+", newest last"
	if most := calls(f); len(list) > most {
		list = list[len(list)-most:]
		note += fmt.Sprintf("; the last %d", most)
	}
	y = s.Heading(y, "calls", note)
	callW, nodeW := 0, 0
	for _, c := range list {
		callW, nodeW = max(callW, grid.Width(c.name())), max(nodeW, min(grid.Width(c.Node), 16))
	}
	x := 0
	for _, c := range list {
		x = drawCall(s, f, y, c, callW, nodeW)
		y++
	}
	if last := list[len(list)-1]; last.Error != "" && !strings.Contains(said, last.Error) && x+grid.Width(last.Error) > s.W() {
		y = s.Say(y, last.Error, theme.Bad)
	}
	return y
}

// try is a call, and how many times it failed in a row in the same way.
type try struct {
	view.StorageStep
	times int
}

func (t try) name() string {
	if t.times > 1 {
		return fmt.Sprintf("%s ×%d", t.Call, t.times)
	}
	return t.Call
}

// tries are calls with those that fail again and again as one, the newest.
func tries(all []view.StorageStep) (out []try) {
	for _, c := range all {
		if n := len(out); n > 0 && c.Error != "" {
			if was := &out[n-1]; was.Call == c.Call && was.Node == c.Node && was.Pod == c.Pod && was.Error == c.Error {
				was.StorageStep = c
				was.times++
				continue
			}
		}
		out = append(out, try{c, 1})
	}
	return out
}

// drawCall draws a call, and gives the column at which its result begins.
func drawCall(s *pane.Sheet, f *pane.Frame, y int, c try, callW, nodeW int) int {
	mark, st, rest, rst := "✓ ", theme.Good, said(c.StorageStep), theme.Muted
	if c.Error != "" {
		mark, st, rest, rst = "✗ ", theme.Bad, c.Error, theme.Bad
	}
	name := theme.Text
	if f.Fresh(c.Event) {
		name |= grid.Fresh
	}
	spans := []grid.Span{
		{Text: words.Clock(c.At) + " ", Style: theme.Muted},
		{Text: mark, Style: st},
		{Text: grid.Pad(c.name(), callW) + " ", Style: name},
		{Text: grid.Pad(grid.Cut(c.Node, nodeW), nodeW), Style: theme.Name},
		{Text: grid.PadLeft(words.Dur(c.Took), 7) + "  ", Style: theme.Number},
		{Text: rest, Style: rst},
	}
	on := pane.Subject{ID: "call/" + c.Event.String(), Event: c.Event, Kind: trace.CSICall, Copy: cmp.Or(c.Volume, c.Name), Words: words.Clock(c.At) + ", " + c.Driver + ": " + c.name()}
	for _, more := range []string{c.Node, rest, words.Dur(c.Took)} {
		if more != "" {
			on.Words += ", " + more
		}
	}
	on.Words += "."
	s.Line(y, on, spans...)
	w := 0
	for _, x := range spans[:len(spans)-1] {
		w += grid.Width(x.Text)
	}
	return w
}

// said is what a call gave, or what it was asked for.
func said(c view.StorageStep) string {
	switch {
	case c.Pod != "":
		return c.Pod
	case c.Result != "":
		return c.Result
	}
	return c.Arg
}

// calls is how many calls there is room for.
func calls(f *pane.Frame) int {
	if f.Rows < 30 {
		return 6
	}
	return 12
}
