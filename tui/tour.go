package tui

import (
	"time"

	"kviz/cluster/expr"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/keymap"
)

// A tour runs by itself for about a minute: commands, each with a sentence of what is to be
// seen, at a pace at which it can be. With any key the person takes over. What the tours show
// stands in tours.go.
type tour struct {
	name  string
	needs func(*view.State) string // why it cannot be shown; "" if it can
	legs  []leg
	ends  string // one sentence of what was seen
}

// leg is a part of a tour.
type leg struct {
	says  string
	quiet bool                     // the console stays closed: the picture is what is to be seen
	line  func(*view.State) string // the command with which it begins; nil for none
	speed float64
	takes time.Duration // of the cluster's time, at most
	until *expr.Program // it is over as soon as this holds and it could be read; nil: when its time is
	then  []sequel      // what comes of the command, one after another
}

// sequel is a change that comes of a leg's command: it is told once it has happened.
type sequel struct {
	when  *expr.Program
	after time.Duration // of the cluster's time since the leg began, at least: for what holds before it has changed, too
	says  string
}

// reading is how long a leg stays at least, in real time.
const reading = 5 * time.Second

// touring is where a tour stands; zero when there is none.
type touring struct {
	waits       string // the one that begins when the cluster is ready
	tour        *tour
	leg         int
	told        int           // so many of its sequels
	began, ends time.Duration // of the leg, by the cluster's time
}

func (t *touring) on() bool { return t.tour != nil }

// watchTour begins a tour.
func (m *Explorer) watchTour(name string) action.Action {
	t := tourOf(name)
	switch {
	case t == nil:
		return action.Notice{Text: "there is no tour " + name}
	case m.recording != "":
		return action.Notice{Text: "this is a recording: a tour needs a running cluster"}
	case m.cluster == nil && m.drive.Failed() == nil:
		m.open.Clear()
		m.tour.waits = name
		return action.Notice{Text: m.drive.Absent() + "; then this begins by itself"}
	case m.cluster == nil:
		return action.Notice{Text: m.drive.Absent()}
	}
	m.open.Clear()
	m.frame.Anew()
	m.travel.ToNow()
	if t.needs != nil {
		if why := t.needs(m.history().Latest()); why != "" {
			return action.Notice{Text: why}
		}
	}
	m.tour = touring{tour: t}
	if m.drive.Clock().Paused {
		m.perform(m.drive.Do(keymap.Pause))
	}
	return m.begin(0)
}

// begin goes a leg of the tour.
func (m *Explorer) begin(n int) action.Action {
	l, now := m.tour.tour.legs[n], m.elapsed()
	m.tour.told = 0
	m.tour.leg, m.tour.began, m.tour.ends = n, now, now+l.takes
	if refused := m.drive.SetSpeed(l.speed); refused != nil {
		m.tour = touring{}
		return refused
	}
	if l.line != nil {
		if !l.quiet {
			m.drawer.Show()
		}
		m.perform(m.exec(l.line(m.history().Latest())))
	}
	m.notice = notice{}
	m.moving.teller.Say(l.says)
	return nil
}

// elapsed is the cluster's time, which also passes while nothing happens.
func (m *Explorer) elapsed() time.Duration { return m.drive.Elapsed(m.travel.State().At) }

// guide goes on to the next leg when one is over, and gives the cluster its own pace again after
// the last.
func (m *Explorer) guide() action.Action {
	t := &m.tour
	if !t.on() {
		return nil
	}
	m.tellSequel()
	if !m.legOver() {
		return nil
	}
	if t.leg+1 < len(t.tour.legs) {
		return m.begin(t.leg + 1)
	}
	return m.endTour(t.tour.ends)
}

// tellSequel tells the next change that has come of the leg's command, once what was said before could be read.
func (m *Explorer) tellSequel() {
	t := &m.tour
	l := t.tour.legs[t.leg]
	if t.told == len(l.then) || m.moving.teller.Saying() {
		return
	}
	next := l.then[t.told]
	if m.elapsed() < t.began+next.after {
		return
	}
	if holds, err := next.when.Eval(m.history().Latest(), nil); err != nil || !holds {
		return
	}
	t.told++
	m.moving.teller.Say(next.says)
}

// legOver reports whether the leg has taken its time, or shown what it is there for.
func (m *Explorer) legOver() bool {
	l, now := m.tour.tour.legs[m.tour.leg], m.elapsed()
	switch {
	case now >= m.tour.ends:
		return true
	case m.tour.told < len(l.then) || len(l.then) > 0 && m.moving.teller.Saying():
		return false
	case l.until == nil || now < m.tour.began+time.Duration(float64(reading)*l.speed):
		return false
	}
	holds, err := l.until.Eval(m.history().Latest(), nil)
	return err == nil && holds
}

// endTour gives the cluster its own pace again.
func (m *Explorer) endTour(says string) action.Action {
	m.tour = touring{}
	if refused := m.drive.SetSpeed(1); refused != nil {
		return refused
	}
	return action.Notice{Text: says}
}
