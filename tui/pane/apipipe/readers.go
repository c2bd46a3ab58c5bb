package apipipe

import (
	"fmt"

	"kviz/cluster/trace"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// mostReaders is how many clients are compared.
const mostReaders = 8

// reading is a row: one client, or all that poll the same.
type reading struct {
	who, resource, how string
	reads, told        int
	clients            int
	polls              bool
	last               trace.ID
}

// readings are the rows, of those that have asked or been told in the last minute.
func readings(f *pane.Frame) []reading {
	var all []reading
	pollers := map[string]int{} // resource -> row
	for _, a := range f.S.Askers() {
		x := reading{
			who: pane.Abbreviate(a.Client), resource: a.Resource, how: f.S.How(a), clients: 1, polls: a.Polls(), last: a.Last,
			reads: a.AskedWithin(f.S.At), told: a.ToldWithin(f.S.At),
		}
		if !f.Match(a.Client, a.Resource) || x.reads+x.told == 0 {
			continue
		}
		if i, ok := pollers[x.resource]; ok && x.polls {
			sum := &all[i]
			sum.clients, sum.reads = sum.clients+1, sum.reads+x.reads
			if x.last.Compare(sum.last) > 0 {
				sum.last = x.last
			}
			sum.who = fmt.Sprintf("%d that poll", sum.clients)
			sum.how = fmt.Sprintf("polls, %d each", sum.reads/sum.clients)
			continue
		}
		if x.polls {
			pollers[x.resource] = len(all)
		}
		all = append(all, x)
	}
	return all
}

// drawReaders compares clients that poll with clients that watch: how many
// reads the server got from each in the last minute, and how many events it told them.
func drawReaders(s *pane.Sheet, f *pane.Frame, y int) int {
	all := readings(f)
	if len(all) == 0 {
		return y
	}
	y = s.Heading(y, "who asks, and who watches", "in the last minute")
	c := readerColumns{name: nameWidth(s)}
	for _, x := range all {
		c.reads, c.told = max(c.reads, x.reads), max(c.told, x.told)
	}
	if c.bar = (s.W() - c.name - 15 - 20 - 2*8) / 2; c.bar < 4 {
		c.bar = 0
	}
	a := s.Row(y)
	a.Right(c.name+15+5, 0, "reads", theme.Muted)
	a.Right(c.name+15+8+c.bar+5, 0, "told", theme.Muted)
	y++
	for i, x := range all {
		if i == mostReaders {
			s.Row(y).Text(0, 0, fmt.Sprintf("… and %d more (kviz clients; / filters)", len(all)-i), theme.Muted)
			return y + 1
		}
		drawReader(s, f, y, x, c)
		y++
	}
	return y
}

// readerColumns is how wide things are, and what the longest bars stand for.
type readerColumns struct{ name, bar, reads, told int }

func drawReader(s *pane.Sheet, f *pane.Frame, y int, x reading, c readerColumns) {
	st, hs := theme.Text, theme.Good
	if f.Fresh(x.last) {
		st |= grid.Fresh
	}
	if x.polls {
		hs = theme.Warn
	}
	a := s.Row(y)
	a.Fit(0, 0, c.name, x.who, st)
	a.Fit(c.name+1, 0, 13, x.resource, theme.Name)
	at := c.name + 15
	for _, part := range []struct {
		n, most int
		st      grid.Style
	}{{x.reads, c.reads, hs}, {x.told, c.told, theme.Busy}} {
		a.Text(at, 0, grid.PadLeft(fmt.Sprint(part.n), 5), theme.Number)
		a.Bar(at+6, 0, c.bar, float64(part.n), float64(part.most), part.st, theme.Line)
		at += 8 + c.bar
	}
	a.Fit(at, 0, s.W()-at, x.how, hs)
	s.Hot(0, y, s.W(), pane.Subject{
		ID: "asker/" + x.who + "/" + x.resource, Event: x.last, Kind: trace.RequestReceived, Copy: x.who,
		Words: fmt.Sprintf("%s and %s: %s and %s in the last minute: %s.", x.who, x.resource, words.Count(x.reads, "read"), words.Count(x.told, "event"), x.how),
	})
}
