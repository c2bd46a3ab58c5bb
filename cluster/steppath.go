package cluster

import (
	"fmt"
	"time"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// pathSteps is the path of a command as far as it was stepped along. All of it is the
// kernel's.
type pathSteps struct {
	path  *view.Path
	next  uint64     // position of the first event that the path does not know
	stop  *sim.Stop  // of a step that is under way
	limit *sim.Timer // after which it ends, though nothing came
}

// How much virtual time may pass in one step along a path: long enough for a node whose
// Lease runs out to be noticed; short once something is what it should be, for little
// comes after that.
const (
	pathLimit     = time.Minute
	pathConverged = 5 * time.Second
)

// StepOf runs to the next station, of a grain or coarser, of what a command or a fault leads
// to (view.Path), and,
// once the command itself has ended, as fast as it can, for what lies between two of them
// is what is to be left out. If nothing comes within pathLimit, it stands and says so.
func (c *clock) StepOf(of trace.ID, least trace.Grain) error {
	return c.change("step path of #"+of.String(), func() {
		s := &c.steps
		if s.path == nil || s.path.Of() != of {
			s.path, s.next = view.NewPath(of), c.stream.Search(of)
		}
		s.take(c.stream)
		if s.path.Idle() {
			c.k.Pause()
			c.why = fmt.Sprintf("#%s only read", of)
			return
		}
		s.stop = &sim.Stop{Once: true, At: func(e *trace.Event) bool {
			ends := s.take(c.stream) && e.Grain() >= least || s.path.Idle()
			if !ends && s.path.Done() && s.limit == nil {
				c.hurry()
			}
			return ends
		}, Hit: func(*trace.Event) { c.endStepOf() }}
		c.k.AddStop(s.stop)
		c.k.Resume()
		if s.path.Done() {
			c.hurry()
		}
	})
}

// hurry has a step along a path that is under way wait for nothing, and end in time. While
// the command runs, it would not do: its requests come in real time.
func (c *clock) hurry() {
	limit := pathLimit
	if c.converged() {
		limit = pathConverged
	}
	of := c.steps.path.Of()
	c.steps.limit = c.k.After(limit, func() {
		c.endStepOf()
		c.k.Pause()
		c.stands(fmt.Sprintf("nothing new came of #%s in %s", of, limit))
	})
	c.k.SkipTo(c.k.Elapsed() + limit)
}

// take tells the path what has happened since, and reports whether the newest event is a
// station.
func (s *pathSteps) take(stream *trace.Stream) (station bool) {
	for {
		events, next, _ := stream.Read(s.next, 0)
		if len(events) == 0 {
			return station
		}
		for _, e := range events {
			station = s.path.Take(e)
		}
		s.next = next
	}
}

// converged reports whether the last station is something that is now as it should be.
func (c *clock) converged() bool {
	met := c.steps.path.Stations()
	if len(met) == 0 {
		return false
	}
	e, _, ok := c.stream.At(met[len(met)-1])
	return ok && e.Kind == trace.Converged
}

// endStepOf ends a step along a path that is under way.
func (c *clock) endStepOf() {
	if s := &c.steps; s.stop != nil {
		c.k.RemoveStop(s.stop)
		if s.limit != nil {
			s.limit.Cancel()
		}
		s.stop, s.limit = nil, nil
	}
}
