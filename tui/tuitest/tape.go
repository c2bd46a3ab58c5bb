// Package tuitest has what the tests of the explorer draw: a story of events written
// by hand, from a first election to a packet that finds its pod, and a cluster that
// only records what is asked of it.
//
// The story is folded by the real package view, so a pane that draws it draws
// what it would draw of a cluster that behaved so.
//
// Start reading at [Cluster], then tape.go.
package tuitest

import (
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// Tape writes a trace by hand.
type Tape struct {
	Stream *trace.Stream
	at     time.Duration
	last   trace.ID
	rev    int64
	vers   map[string]int64
	made   map[string]int64
	req    uint64
	serial uint64
	index  uint64
	term   uint64
	leader string
	up     map[string]bool
	order  []string
}

// NewTape starts an empty trace.
func NewTape() *Tape {
	return &Tape{Stream: trace.NewStream(0), vers: map[string]int64{}, made: map[string]int64{}, up: map[string]bool{}}
}

// After lets virtual time pass.
func (t *Tape) After(d time.Duration) *Tape { t.at += d; return t }

// Emit appends an event and gives its number.
func (t *Tape) Emit(component, instance string, kind trace.Kind, object trace.Ref, payload any, causes ...trace.ID) trace.ID {
	if kind.Info().Outside {
		t.last.Sub++
	} else {
		t.last = trace.ID{Seq: t.last.Seq + 1}
	}
	var real []trace.ID
	for _, c := range causes {
		if !c.IsZero() {
			real = append(real, c)
		}
	}
	t.Stream.Append(&trace.Event{
		ID: t.last, At: t.at, Lane: trace.Lane{Component: component, Instance: instance}, Kind: kind,
		Object: object, Payload: payload, Causes: real,
	})
	return t.last
}

// History folds the tape.
func (t *Tape) History() *view.History {
	h := view.NewHistory(t.Stream)
	h.CatchUp(0)
	return h
}
