package tui

import (
	"fmt"
	"strings"
	"time"

	"kviz/cluster/trace"
	"kviz/tui/timeline"
	"kviz/tui/words"
)

// pull brings the state up to where we are; it reports whether anything on the
// screen may have changed.
func (m *Explorer) pull() bool {
	changed := false
	stream := m.hist.Stream()
	if m.ctl != nil {
		c := m.ctl.Clock()
		c.Elapsed = c.Elapsed.Truncate(100 * time.Millisecond)
		if c != m.clock {
			m.clock, changed = c, true
		}
	}
	m.index.Catch(stream, 50_000)
	old := m.state
	if m.live {
		m.state = m.hist.Latest()
	} else {
		if m.playing {
			m.playOn()
		}
		if first := m.hist.First(); m.at < first {
			m.at, changed = first, true
			m.notice = "older events have left memory; with --trace FILE they are read back from the recording"
		}
		if s := m.hist.At(m.at); s != nil {
			m.state = s
		}
	}
	if m.state != old {
		changed = true
	}
	if v := m.console.Version(); v != m.consoleSeen {
		m.consoleSeen, changed = v, true
	}
	if m.cfg.Lessons != nil && changed {
		m.lookAtLesson()
	}
	return changed
}

// busy reports whether the next look will find something without being woken.
func (m *Explorer) busy() bool {
	if m.playing || m.boot != "" || m.console.Busy() || m.stepWaits > 0 {
		return true
	}
	if m.hist.Len() != m.hist.Stream().Len() {
		return true
	}
	return m.ctl != nil && !m.clock.Paused
}

// where is our place in the stream.
func (m *Explorer) where() timeline.Where {
	w := timeline.Where{First: m.hist.First(), Len: m.hist.Len(), At: m.at, Live: m.live, Playing: m.playing, Mark: m.mark}
	if m.live && w.Len > 0 {
		w.At = w.Len - 1
	}
	return w
}

// goTo goes to the event at a position; past the end is now.
func (m *Explorer) goTo(pos uint64) {
	first, n := m.hist.First(), m.hist.Len()
	m.playing = false
	if n == 0 {
		return
	}
	if pos >= n-1 && m.cfg.Recording == "" {
		m.live = true
	} else {
		m.live = false
		m.at = max(first, min(pos, n-1))
	}
	m.pointed = false
	m.pull()
	m.dirty = true
}

// goToID goes to an event by its number.
func (m *Explorer) goToID(id trace.ID) {
	_, pos, ok := m.hist.Stream().At(id)
	if !ok {
		m.say(fmt.Sprintf("event #%s is not kept (the oldest is #%s)", id, m.oldest()))
		return
	}
	m.goTo(pos)
	if m.live { // the very event, even if it is the newest
		m.live, m.at = false, pos
		m.pull()
	}
}

func (m *Explorer) oldest() string {
	if e := m.hist.Stream().Get(m.hist.First()); e != nil {
		return e.ID.String()
	}
	return "?"
}

// walk goes by one event of a grain (or coarser), back for by < 0.
func (m *Explorer) walk(by int, grain trace.Grain) {
	w := m.where()
	stream := m.hist.Stream()
	pos := w.At
	for {
		if by < 0 {
			if pos <= w.First {
				m.say("this is the oldest event there is")
				break
			}
			pos--
		} else {
			if pos+1 >= w.Len {
				m.say("this is the newest event")
				break
			}
			pos++
		}
		if e := stream.Get(pos); e == nil || e.Grain() >= grain {
			break
		}
	}
	m.goTo(pos)
}

// scrub goes by a fraction of all events.
func (m *Explorer) scrub(by int) {
	w := m.where()
	step := max((w.Len-w.First)/40, 5)
	if by < 0 {
		m.goTo(max(w.At, w.First+step) - step)
	} else {
		m.goTo(w.At + step)
	}
}

// toMark goes to the next or previous command, fault or election.
func (m *Explorer) toMark(by int) {
	w := m.where()
	var k timeline.Mark
	var ok bool
	if by < 0 {
		k, ok = m.index.Before(w.At)
	} else {
		k, ok = m.index.After(w.At)
	}
	if !ok || k.Pos < w.First || k.Pos >= w.Len {
		m.say("no more commands, faults or elections that way")
		return
	}
	m.goTo(k.Pos)
	m.say(k.Words)
}

// setMark remembers this moment; swapMark goes there and remembers this one.
func (m *Explorer) setMark() {
	m.mark = m.where().At + 1
	m.say("remembered #" + m.state.Last.String() + "; ' comes back to it")
}

func (m *Explorer) swapMark() {
	if m.mark == 0 {
		m.say("no moment is remembered (m remembers one)")
		return
	}
	here := m.where().At + 1
	m.goTo(m.mark - 1)
	m.mark = here
}

// play starts or stops going through the past by itself.
func (m *Explorer) play() {
	m.playing = !m.playing
	if m.playing {
		m.playAt = m.state.At
		if m.where().At+1 >= m.hist.Len() {
			m.goTo(m.hist.First())
			m.playing, m.playAt = true, m.state.At
		}
	}
}

// playOn moves on through the past by one tick; quiet stretches of more than
// a second are skipped.
func (m *Explorer) playOn() {
	stream := m.hist.Stream()
	step := time.Duration(float64(m.rate()) * m.playRate)
	m.playAt += step
	if m.playRate <= 0 {
		m.playAt = 1 << 62
	}
	n := m.hist.Len()
	pos := m.at
	next := stream.Get(pos + 1)
	if next != nil && next.At > m.playAt+time.Duration(float64(time.Second)*max(m.playRate, 0.02)) {
		m.playAt = next.At
	}
	for moved := 0; pos+1 < n && moved < 20_000; moved++ {
		e := stream.Get(pos + 1)
		if e == nil || e.At > m.playAt {
			break
		}
		pos++
	}
	m.at = pos
	if pos+1 >= n {
		m.playing = false
		if m.cfg.Recording == "" {
			m.live = true
		}
	}
}

// speedWord is the speed that the status line shows.
func (m *Explorer) speedWord() string {
	if m.cfg.Recording != "" || !m.live {
		return words.Speed(m.playRate)
	}
	return words.Speed(m.clock.Speed)
}

// behindWord says beside the speed that virtual time does not make it: the fold of
// the newest event knows, and there alone it is true.
func (m *Explorer) behindWord() string {
	c := m.state.Clock
	if c.Behind == "" || m.cfg.Recording != "" || !m.live || m.clock.Paused {
		return ""
	}
	why := c.Behind
	if m.w < 110 {
		why = why[strings.LastIndex(why, " ")+1:]
	}
	digits := 2
	for x := c.Actual; x >= 10 && digits > 0; x /= 10 {
		digits--
	}
	return fmt.Sprintf(" %.*fx: %s", digits, c.Actual, why)
}

// speeds are the steps of the speed keys; 0 is as fast as possible.
var speeds = []float64{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 50, 0}

// nextSpeed is the next step above or below x.
func nextSpeed(x float64, by int) float64 {
	at := len(speeds) - 1
	if x > 0 {
		for i, s := range speeds[:len(speeds)-1] {
			if x <= s*1.0001 {
				at = i
				break
			}
		}
	}
	return speeds[max(0, min(at+by, len(speeds)-1))]
}

// now is the virtual time that the status line shows: the cluster's clock
// while we are with it, else the time of the event we are at.
func (m *Explorer) now() time.Duration {
	if m.live && m.ctl != nil && m.clock.Elapsed > m.state.At {
		return m.clock.Elapsed
	}
	return m.state.At
}
