package tui

import (
	"strings"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/frame"
)

// explain is what the explanation line says.
func (m *Explorer) explain() frame.Explain {
	e := m.told()
	return frame.Explain{Event: e, Means: m.travel.State().Meaning(e), Notice: m.notice, Path: m.path()}
}

// graveFor is how long, in real time, a grave event takes precedence over everything
// else.
const graveFor = 2500 * time.Millisecond

// told is the event that the explanation line tells and "why?" asks about: the one we are at,
// in the past and after a step; else, while the cluster runs, what nobody should miss, as
// long as it is new; else the one that the picture emphasises, if it is seen; else why there
// is no quorum; else the last news, for raft's messages and renewals of Leases go on
// by themselves and would drown the rest.
func (m *Explorer) told() *trace.Event {
	s := m.travel.State()
	e := s.Event
	if e == nil || !m.travel.Live() {
		return e
	}
	clock, stepped := m.drive.Clock(), m.stepped()
	if stepped && m.drive.Grain() < trace.GrainStage && !view.OfClock(e) {
		return e
	}
	if stepped && e.Outside() { // the step ended at the event before what members did since
		if before := m.history().Event(trace.ID{Seq: e.ID.Seq}); before != nil {
			return before
		}
	}
	if stepped {
		return e
	}
	if s.Grave != nil && !clock.Paused && s.At-s.Grave.At < graveOf(clock.Speed) {
		return s.Grave
	}
	if bright := m.emphasised(); bright != nil && view.Told(bright) {
		return bright
	}
	if q := s.Reach(); s.Grave != nil && q.Total > 0 && !q.OK() {
		return s.Grave
	}
	if _, pos, ok := m.history().Stream().At(e.ID); ok {
		if news := m.history().News(pos); news != nil {
			return news
		}
	}
	return e
}

// stepped reports whether the cluster stands because a step is over.
func (m *Explorer) stepped() bool {
	clock := m.drive.Clock()
	return clock.Paused && strings.HasPrefix(clock.Why, "step ")
}

// graveOf is how much virtual time goes by at a speed while a grave event is new.
func graveOf(speed float64) time.Duration {
	if speed <= 0 { // as fast as possible
		speed = 10
	}
	return time.Duration(speed * float64(graveFor))
}
