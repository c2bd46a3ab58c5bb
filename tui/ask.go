package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"kviz/cluster/expr"
	"kviz/cluster/trace"
	"kviz/tui/action"
	"kviz/tui/menu"
	"kviz/tui/odds"
	"kviz/tui/overlay"
	"kviz/tui/words"
)

// Question asks how probable something became in a run.
type Question struct {
	Past     []*trace.Event
	Expr     string
	From, To uint64 // events of the control plane, both included
	Events   int    // at how many of them, at most
	Seeds    int    // branches at each
	Within   time.Duration
	Progress func(OddsProgress)
}

// OddsProgress is how far the asking is.
type OddsProgress struct {
	Done, Of int // branches
	Took     time.Duration
}

// asking is a question that is being answered.
type asking struct {
	stop context.CancelFunc // nil: none is
	bar  *overlay.Progress
}

// Messages of a question.
type (
	oddsTold OddsProgress
	oddsDone struct {
		of    *branch
		curve *odds.Curve
		err   error
	}
)

// The branches that answer a question while the user waits; kviz odds has flags for
// this.
const (
	oddsEvents = 12
	oddsSeeds  = 10
	oddsWithin = time.Minute
)

// askOdds shows the curve there is, or asks what it is wanted of.
func (m *Explorer) askOdds(from, to trace.ID, anew bool) action.Action {
	if why := m.cannotFork(); why != "" {
		return action.Notice{Text: why}
	}
	if m.curve != nil && !anew {
		m.open.Push(menu.Odds(m.curve, from, to))
		return nil
	}
	m.open.Push(menu.WhatOdds(from, to, m.about(), m.travel.State()))
	return nil
}

// stretch is from where to where something is asked: from the mark to the event on the screen,
// whichever comes first; without a mark (no from) since the cluster was ready.
func (m *Explorer) stretch() (from, to trace.ID) {
	to = m.at()
	pos, ok := m.travel.Mark()
	if !ok {
		return trace.ID{}, to
	}
	if e := m.history().Stream().Get(pos); e != nil {
		from = trace.ID{Seq: e.ID.Seq}
	}
	switch {
	case from == to:
		return trace.ID{}, to
	case from.Seq > to.Seq:
		return to, from
	}
	return from, to
}

func (m *Explorer) askStretch() action.Action {
	from, to := m.stretch()
	return action.AskOdds{From: from, To: to}
}

// askRange takes the stretch that was entered, or asks for it again.
func (m *Explorer) askRange(text string, at trace.ID) action.Action {
	from, to, err := m.parseStretch(text)
	if err != nil {
		again := menu.AskRange(trace.ID{}, at)
		again.Text, again.Error = text, err.Error()
		return again
	}
	m.open.Pop() // the list of another stretch
	return action.AskOdds{From: from, To: to}
}

// parseStretch reads M..N; the events are numbered from 1.
func (m *Explorer) parseStretch(text string) (from, to trace.ID, err error) {
	last := m.history().Latest().Last.Seq
	a, b, two := strings.Cut(text, "..")
	if two {
		if from, err = trace.ParseID(strings.TrimPrefix(a, "#")); err == nil {
			to, err = trace.ParseID(strings.TrimPrefix(b, "#"))
		}
	}
	if !two || err != nil || from.Seq == 0 || to.Seq < from.Seq || to.Seq > last {
		return from, to, fmt.Errorf("%q: want M..N, two events of the run, which has #1 to #%d", text, last)
	}
	return trace.ID{Seq: from.Seq}, trace.ID{Seq: to.Seq}, nil
}

// odds asks beside the explorer.
func (m *Explorer) odds(a action.Odds) action.Action {
	if why := m.cannotFork(); why != "" {
		return action.Notice{Text: why}
	}
	if _, err := expr.Compile(a.Expr); err != nil {
		again := menu.AskOdds(a.From, a.To)
		again.Text, again.Error = a.Expr, err.Error()
		return again
	}
	past := m.events()
	from := a.From.Seq
	if from == 0 {
		from = readyAt(past)
	}
	ctx, stop := context.WithCancel(m.ctx)
	m.asking = asking{stop: stop, bar: &overlay.Progress{
		Title: "When did it become inevitable?", Stop: action.StopOdds{},
		Text: fmt.Sprintf("%d branches leave %s at each of at most %d events from #%d to #%s: %s", oddsSeeds, m.name, oddsEvents, from, a.To, a.Expr),
	}}
	m.open.Push(m.asking.bar)
	m.halt()
	q := Question{
		Past: past, Expr: a.Expr, From: min(from, a.To.Seq), To: a.To.Seq, Events: oddsEvents, Seeds: oddsSeeds, Within: oddsWithin,
		Progress: func(p OddsProgress) { m.send(oddsTold(p)) },
	}
	of := m.branch
	m.safe.Go(func() {
		chances, err := m.cfg.Forks.Odds(ctx, q)
		m.send(oddsDone{of, &odds.Curve{Expr: q.Expr, Seeds: q.Seeds, Within: q.Within, Chances: chances}, err})
	})
	return nil
}

// readyAt is the event at which the cluster was ready, or the first.
func readyAt(past []*trace.Event) uint64 {
	for _, e := range past {
		if e.Kind == trace.Ready {
			return e.ID.Seq
		}
	}
	return 1
}

// oddsTold shows how far it is.
func (m *Explorer) oddsTold(p OddsProgress) {
	if bar := m.asking.bar; bar != nil && p.Done > 0 {
		bar.Share = float64(p.Done) / float64(max(p.Of, 1))
		left := time.Duration(float64(p.Took) / float64(p.Done) * float64(p.Of-p.Done))
		bar.Left = fmt.Sprintf("%d of %d branches, about %s more", p.Done, p.Of, words.Dur(left.Round(time.Second)))
	}
}

// stopOdds gives a question up; what is known then is shown.
func (m *Explorer) stopOdds() action.Action {
	if m.asking.stop != nil {
		m.asking.stop()
	}
	return nil
}

// oddsDone shows the curve.
func (m *Explorer) oddsDone(d oddsDone) {
	m.asking.stop()
	if m.open.Top() == overlay.Overlay(m.asking.bar) {
		m.open.Pop()
	}
	m.asking = asking{}
	d.of.goOn()
	var differs interface{ Where() trace.ID }
	switch {
	case errors.As(d.err, &differs):
		m.open.Push(menu.Differs(d.err, differs.Where()))
		return
	case d.err != nil && !errors.Is(d.err, context.Canceled):
		m.say(d.err.Error())
		return
	case len(d.curve.Chances) == 0:
		m.say("it is given up before anything was known")
		return
	}
	d.of.curve = d.curve
	m.frame.Anew()
	if d.of == m.branch {
		from, to := m.stretch()
		m.open.Push(menu.Odds(d.curve, from, to))
	}
}

// columnOf is where on the timeline an event stands; -1 if it is not there.
func (m *Explorer) columnOf(width int) func(*trace.Event) int {
	where, stream := m.travel.Where(), m.history().Stream()
	return func(e *trace.Event) int {
		_, pos, ok := stream.At(e.ID)
		if !ok {
			return -1
		}
		return m.travel.Index().Column(stream, pos, width, where)
	}
}
