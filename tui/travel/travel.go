// Package travel is the explorer's position in the trace, at the newest event or at one
// in the past, and how it moves: by events, marks and numbers, by dragging the scrubber,
// or by playing the past like a film. It knows nothing but the history, and answers with
// actions.
//
// Start reading at [Travel].
package travel

import (
	"fmt"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/keymap"
	"kviz/tui/timeline"
)

// Travel is the position in the trace, and the state of the cluster there.
type Travel struct {
	hist      *view.History
	recording bool // it has an end, and no present
	index     timeline.Index
	state     *view.State
	live      bool   // the state is the newest, and stays so
	at        uint64 // position of the event the state is at, when not live
	mark      uint64 // remembered position + 1; 0 for none
	play      play
	path      path
}

// New stands at the newest event, of a recording at the oldest.
func New(h *view.History, recording bool) *Travel {
	t := &Travel{hist: h, recording: recording, live: !recording, state: h.Latest(), at: h.First(), play: play{speed: 1}}
	t.settle()
	return t
}

// State is the state of the cluster at the position.
func (t *Travel) State() *view.State { return t.state }

// Live reports whether the position is that of the newest event.
func (t *Travel) Live() bool { return t.live }

// Past reports whether the clock's keys go through what has happened already.
func (t *Travel) Past() bool { return !t.live || t.recording }

// Behind reports whether events wait to be folded.
func (t *Travel) Behind() bool { return t.hist.Len() != t.hist.Stream().Len() }

// Marks are the marks of the timeline.
func (t *Travel) Marks() []timeline.Mark { return t.index.Marks() }

// Index is the timeline.
func (t *Travel) Index() *timeline.Index { return &t.index }

// Update brings the state up to the position after some time has passed, and reports
// whether it changed. Events that have left memory take the position with them, which
// is what it then has to say.
func (t *Travel) Update(passed time.Duration) (changed bool, says action.Action) {
	t.index.Catch(t.hist.Stream(), 50_000)
	old := t.state
	if !t.live && t.play.on {
		t.playOn(passed)
	}
	if first := t.hist.First(); !t.live && t.at < first {
		t.at, changed = first, true
		says = action.Notice{Text: "older events have left memory; with --trace FILE they are read back from the recording"}
	}
	t.settle()
	return changed || t.state != old, says
}

// settle brings the state to the position.
func (t *Travel) settle() {
	if t.live {
		t.state = t.hist.Latest()
	} else if s := t.hist.At(t.at); s != nil {
		t.state = s
	}
}

// Where is the position for the timeline.
func (t *Travel) Where() timeline.Where {
	w := timeline.Where{First: t.hist.First(), Len: t.hist.Len(), At: t.at, Live: t.live, Playing: t.play.on, Mark: t.mark}
	if t.live && w.Len > 0 {
		w.At = w.Len - 1
	}
	return w
}

// To goes to the event at a position; past the end is now.
func (t *Travel) To(pos uint64) {
	first, n := t.hist.First(), t.hist.Len()
	t.play.on = false
	if n == 0 {
		return
	}
	t.live = pos >= n-1 && !t.recording
	if !t.live {
		t.at = max(first, min(pos, n-1))
	}
	t.settle()
}

// ToNow leaves the past: what is done to the cluster is done now.
func (t *Travel) ToNow() {
	if !t.recording {
		t.live, t.play.on = true, false
		t.settle()
	}
}

// ToEvent goes to an event by its number.
func (t *Travel) ToEvent(id trace.ID) action.Action {
	_, pos, ok := t.hist.Stream().At(id)
	if !ok {
		return notice("event #%s is not in memory any more (the oldest is #%s)", id, t.oldest())
	}
	t.To(pos)
	if t.live { // the very event, even if it is the newest
		t.live, t.at = false, pos
		t.settle()
	}
	return nil
}

func (t *Travel) oldest() string {
	if e := t.hist.Stream().Get(t.hist.First()); e != nil {
		return e.ID.String()
	}
	return "?"
}

// Do does one of the keymap's actions that begin with "time.". The grain says how far
// one event back or forward is.
func (t *Travel) Do(name string, grain trace.Grain) action.Action {
	switch name {
	case keymap.Back:
		return t.Walk(-1, grain)
	case keymap.Forward:
		return t.Walk(1, grain)
	case keymap.ScrubBack:
		t.Scrub(-1)
	case keymap.ScrubOn:
		t.Scrub(1)
	case keymap.MarkBack:
		return t.toMark(t.index.Before(t.Where().At))
	case keymap.MarkOn:
		return t.toMark(t.index.After(t.Where().At))
	case keymap.Start:
		t.To(t.hist.First())
	case keymap.Now:
		t.To(t.hist.Len())
	case keymap.GoTo:
		return action.Prompt{For: action.ForEvent, Title: "Go to an event", Intro: "Its number, such as 214 or 214.3."}
	case keymap.Axis:
		return action.Notice{Text: t.index.Turn()}
	case keymap.SetMark:
		t.mark = t.Where().At + 1
		return notice("remembered #%s; ' comes back to it", t.state.Last)
	case keymap.ToMark:
		return t.swapMark()
	}
	return nil
}

// Mark is the position that is remembered, false for none.
func (t *Travel) Mark() (pos uint64, ok bool) { return t.mark - 1, t.mark > 0 }

// Walk goes by one event of a grain (or coarser), back for by < 0.
func (t *Travel) Walk(by int, grain trace.Grain) (says action.Action) {
	w := t.Where()
	stream := t.hist.Stream()
	pos := w.At
	for {
		if by < 0 && pos <= w.First {
			says = notice("this is the oldest event there is")
			break
		}
		if by > 0 && pos+1 >= w.Len {
			says = notice("this is the newest event")
			break
		}
		if by < 0 {
			pos--
		} else {
			pos++
		}
		if e := stream.Get(pos); e == nil || e.Grain() >= grain {
			break
		}
	}
	t.To(pos)
	return says
}

// Scrub goes by a fraction of all events.
func (t *Travel) Scrub(by int) {
	w := t.Where()
	step := max((w.Len-w.First)/40, 5)
	if by < 0 {
		t.To(max(w.At, w.First+step) - step)
	} else {
		t.To(w.At + step)
	}
}

// toMark goes to a command, fault or election.
func (t *Travel) toMark(k timeline.Mark, ok bool) action.Action {
	if w := t.Where(); !ok || k.Pos < w.First || k.Pos >= w.Len {
		return notice("no more commands, faults or elections that way")
	}
	t.To(k.Pos)
	return action.Notice{Text: k.Words}
}

// swapMark goes to the remembered moment and remembers this one.
func (t *Travel) swapMark() action.Action {
	if t.mark == 0 {
		return notice("no moment is remembered (m remembers one)")
	}
	from := t.Where().At + 1
	t.To(t.mark - 1)
	t.mark = from
	return nil
}

func notice(format string, args ...any) action.Action {
	return action.Notice{Text: fmt.Sprintf(format, args...)}
}
