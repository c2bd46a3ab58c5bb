package tui

import (
	"time"

	"kviz/tui/action"
)

// The start screen's first choice is an apply so slow that one can follow it, from the command
// to the rules that know its pods. It runs by itself; with any key the person takes over.
const tourLine = "kubectl apply -f manifests/hello.yaml"

// tourLegs take a minute: half a second in which everybody does something at once, then
// three and a half of waiting for containers, and for the proxies to know of them.
var tourLegs = []leg{{0.02, 500 * time.Millisecond}, {0.1, 3500 * time.Millisecond}}

// leg is a part of the tour: how fast the cluster goes, and for how much of its time.
type leg struct {
	speed float64
	takes time.Duration
}

// tour is where the tour stands; zero when there is none.
type tour struct {
	legs  []leg         // this one and those to come
	until time.Duration // the cluster's time at which this one is over
}

func (t *tour) on() bool { return len(t.legs) > 0 }

// watchApply begins the tour.
func (m *Explorer) watchApply() action.Action {
	m.open.Clear()
	if refused := m.begin(tourLegs); refused != nil {
		return refused
	}
	return m.exec(tourLine)
}

// begin goes the first of some legs.
func (m *Explorer) begin(legs []leg) action.Action {
	m.tour = tour{legs, m.elapsed() + legs[0].takes}
	return m.drive.SetSpeed(legs[0].speed)
}

// elapsed is the cluster's time, which also passes while nothing happens.
func (m *Explorer) elapsed() time.Duration { return m.drive.Elapsed(m.travel.State().At) }

// guide goes on to the next leg when one is over, and gives the cluster its own pace again after
// the last.
func (m *Explorer) guide() action.Action {
	switch {
	case !m.tour.on() || m.elapsed() < m.tour.until:
		return nil
	case len(m.tour.legs) > 1:
		return m.begin(m.tour.legs[1:])
	}
	return m.endTour("that was the apply: . steps along it, w asks why, , goes back")
}

// endTour gives the cluster its own pace again.
func (m *Explorer) endTour(says string) action.Action {
	m.tour = tour{}
	if refused := m.drive.SetSpeed(1); refused != nil {
		return refused
	}
	return action.Notice{Text: says}
}
