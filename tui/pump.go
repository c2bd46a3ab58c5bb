package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"kviz/cluster/view"
)

// pump asks for looks at the trace by a clock while something goes on.
type pump struct{ ticking bool }

// waker asks for looks at a trace when it grows.
type waker struct {
	watching bool
	wake     <-chan struct{}
	stop     func()
	ended    chan struct{} // closed when nobody waits any more
}

type (
	tickMsg struct{}            // it is time for a look
	wakeMsg struct{ of *waker } // the trace has grown
)

// tick asks for the next look, unless one is asked for already.
func (p *pump) tick(after time.Duration) tea.Cmd {
	if p.ticking {
		return nil
	}
	p.ticking = true
	return tea.Tick(after, func(time.Time) tea.Msg { return tickMsg{} })
}

// watch asks for a message when the trace grows, unless it is asked for already.
func (w *waker) watch(ctx context.Context, h *view.History) tea.Cmd {
	if w.watching {
		return nil
	}
	if w.wake == nil {
		w.wake, w.stop = h.Stream().Notify()
		w.ended = make(chan struct{})
	}
	w.watching = true
	wake, ended, done := w.wake, w.ended, ctx.Done()
	return func() tea.Msg {
		select {
		case <-wake:
			return wakeMsg{w}
		case <-ended: // else whoever waits would hold the run
		case <-done:
		}
		return nil
	}
}

func (w *waker) close() {
	if w.stop != nil {
		w.stop()
		close(w.ended)
		w.stop = nil
	}
}

// rate is the time between two looks at the trace.
func (m *Explorer) rate() time.Duration {
	if m.cfg.Remote {
		return time.Second / 12
	}
	return time.Second / 30
}

func (m *Explorer) tick() tea.Cmd { return m.pump.tick(m.rate()) }

// look is one look at the trace.
func (m *Explorer) look() tea.Cmd {
	if m.pull(m.rate()) {
		m.screen.dirty = true
	}
	if m.tour.on() || m.travel.Playing() || m.travel.Behind() || m.drawer.Busy() || m.drive.Busy() || m.moving.player.Busy() || m.moving.teller.Busy() || m.trail.Behind() || m.stage.Busy() {
		return m.tick()
	}
	return nil
}

// pull brings every part up to now after some time has passed, and reports whether
// anything on the screen may have changed.
func (m *Explorer) pull(passed time.Duration) bool {
	clock := m.drive.Update()
	state, says := m.travel.Update(passed)
	m.perform(says)
	m.follow()
	m.perform(m.guide())
	output := m.drawer.Update()
	moved := m.animate(passed)
	moved = m.outdated() || moved
	walk := m.walk
	m.walk = m.trail.Update(m.history().Stream(), m.moving.seen, m.travel.State())
	moved = moved || walk != m.walk
	played := m.stage.Tick(passed)
	m.perform(m.stage.Does())
	if clock || state || output || m.stage.Busy() {
		before := m.lesson.Look().Beat
		m.perform(m.lesson.Update())
		if now := m.lesson.Look().Beat; now != nil && now.Mistake != "" && (before == nil || before.Mistake == "") && m.stage.On() {
			m.drawer.Leave() // it lies over what the stage has to say
		}
		m.stage.Update(m.lesson.Look(), m.history())
		return true
	}
	return moved || played
}
