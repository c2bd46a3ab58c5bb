package tui

import (
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/frame"
	"kviz/tui/narrate"
)

// explain is what the explanation line says.
func (m *Explorer) explain() frame.Explain {
	s := m.travel.State()
	x := frame.Explain{Notice: m.notice.text, Path: m.path()}
	if s.Event != nil && (!m.runs() || m.bright() != nil && !m.moving.teller.Saying()) {
		x.Event = m.told()
		x.Means = s.Meaning(x.Event)
		return x
	}
	line := m.moving.teller.Line()
	x.Event, x.Words = line.Event, line.String()
	switch {
	case s.Event == nil:
		x.Words = "waiting for the first event"
	case line.Text == "" && m.drive.Boot() == "":
		x.Words = narrate.Rest(s)
	}
	return x
}

// runs reports whether what is on the screen is a cluster that runs.
func (m *Explorer) runs() bool {
	return m.travel.Live() && m.cluster != nil && !m.drive.Clock().Paused
}

// atAWalk is the speed up to which the picture's own emphasis can be followed with the eyes: it is then what is told.
const atAWalk = 0.2

// bright is the event that the picture emphasises, where a person can follow that; else nil.
func (m *Explorer) bright() *trace.Event {
	if speed := m.drive.Clock().Speed; speed <= 0 || speed > atAWalk {
		return nil
	}
	if e := m.emphasised(); e != nil && view.Told(e) {
		return e
	}
	return nil
}

// told is the event that the explanation line tells and "why?" asks about: the one we are at, in the past and after a step;
// else, while the cluster runs, what the picture emphasises or what is told of it; else what the picture
// emphasises; else the last news, for raft's messages and renewals of Leases go on by themselves and would drown the rest.
func (m *Explorer) told() *trace.Event {
	s := m.travel.State()
	e := s.Event
	if e == nil || !m.travel.Live() {
		return e
	}
	stepped := m.stepped()
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
	if bright := m.bright(); bright != nil {
		return bright
	}
	if line := m.moving.teller.Line(); line.Event != nil && m.runs() {
		return line.Event
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
