// Package director says what of the trace a lesson's beat shows, and for how long. The screen is
// a fold of the trace, so half a second of an election may take eight seconds on the stage: an
// event that changes what the beat points at stays long enough to be seen, the others take no
// time, and a long stretch in which nothing to be seen happens becomes a short bar.
//
// A plan is made once from events that have happened, so the same beat plays for a live cluster,
// a recording and somebody who follows another's lesson. Nothing here knows a screen or a clock.
//
// Start reading at [Make], then [Play].
package director

import "time"

// Event is an event between a beat's beginning and its stop.
type Event struct {
	Pos     uint64        // its position in the stream
	At      time.Duration // virtual time
	Visible bool          // what the beat points at differs after it
}

// Frame is a position that stays on the stage for a while.
type Frame struct {
	Pos   uint64        // how many events are before it
	For   time.Duration // presentation time; 0 is until a key
	Skips time.Duration // it is a bar: so much virtual time passes without a visible change
}

// Plan is what a beat shows, in order. The last frame is where it stands.
type Plan struct {
	Frames  []Frame
	Changes int           // visible ones
	Span    time.Duration // virtual time from the beginning to the stop
}

// Tempo is how a beat is shown.
type Tempo struct {
	Change time.Duration // how long a visible change stays
	Quiet  time.Duration // the longest bar
	ByKey  bool          // each change stays until a key
	Most   time.Duration // the longest that all takes together; 0 is as long as it takes
}

// least is how long a change stays at least, however many there are: more a second nobody tells apart. Where there is no
// time for all of them, some are left out, at even distances.
const least = 100 * time.Millisecond

// pause is the virtual time without a visible change from which on it is shown as a bar: below
// it nobody would take it for a wait.
const pause = 100 * time.Millisecond

// Make plans the way from a position, at a virtual time, to the one after the last event.
func Make(from uint64, at time.Duration, events []Event, t Tempo) Plan {
	hold := t.Change
	if t.ByKey {
		hold = 0
	}
	p := Plan{Frames: []Frame{{Pos: from, For: t.Change}}}
	stop, last := from, at
	if n := len(events); n > 0 {
		stop = events[n-1].Pos + 1
		p.Span = events[n-1].At - at
	}
	for _, e := range events {
		if !e.Visible {
			continue
		}
		p.bar(e.At-last, t.Quiet)
		p.Frames = append(p.Frames, Frame{Pos: e.Pos + 1, For: hold})
		p.Changes++
		last = e.At
	}
	if end := p.Frames[len(p.Frames)-1]; end.Pos != stop {
		if len(events) > 0 {
			p.bar(events[len(events)-1].At-last, t.Quiet)
		}
		p.Frames = append(p.Frames, Frame{Pos: stop})
	}
	p.Frames[len(p.Frames)-1].For = 0
	p.hurry(t.Most)
	return p
}

// hurry has the plan last no longer than that.
func (p *Plan) hurry(most time.Duration) {
	lasts := p.Lasts()
	if most <= 0 || lasts <= most {
		return
	}
	if n, all := int(most/least), p.Frames; len(all) > n+1 {
		p.Frames = nil
		for i := range n {
			p.Frames = append(p.Frames, all[i*len(all)/n])
		}
		p.Frames = append(p.Frames, all[len(all)-1])
		lasts = p.Lasts()
	}
	for i := range p.Frames {
		f := &p.Frames[i]
		if lasts > most {
			f.For = time.Duration(float64(f.For) * float64(most) / float64(lasts))
		}
	}
}

// bar adds a bar for virtual time in which nothing is to be seen.
func (p *Plan) bar(passes, most time.Duration) {
	if passes < pause {
		return
	}
	before := p.Frames[len(p.Frames)-1].Pos
	p.Frames = append(p.Frames, Frame{Pos: before, For: min(passes, most), Skips: passes})
}

// Lasts is the presentation time of the plan, without what waits for keys.
func (p Plan) Lasts() time.Duration {
	sum := time.Duration(0)
	for _, f := range p.Frames {
		sum += f.For
	}
	return sum
}

// Play is how far a plan has been shown.
type Play struct {
	Plan
	at    int           // the frame on the stage
	spent time.Duration // how long it has been there
}

// NewPlay begins a plan.
func NewPlay(p Plan) Play { return Play{Plan: p} }

// Ended is a play that stands at the end of a plan.
func Ended(p Plan) Play { return Play{Plan: p, at: len(p.Frames) - 1} }

// Frame is the frame on the stage, and what part of its time has passed.
func (p *Play) Frame() (f Frame, part float64) {
	f = p.Frames[p.at]
	if f.For > 0 {
		part = min(float64(p.spent)/float64(f.For), 1)
	}
	return f, part
}

// Over reports whether it stands where the beat stops.
func (p *Play) Over() bool { return p.at >= len(p.Frames)-1 }

// Waits reports whether the frame on the stage stays until a key.
func (p *Play) Waits() bool { return !p.Over() && p.Frames[p.at].For == 0 }

// Tick counts presentation time, at so many times the usual tempo, and reports whether there is
// something else to draw.
func (p *Play) Tick(passed time.Duration, tempo float64) (changed bool) {
	if p.Over() || p.Waits() {
		return false
	}
	p.spent += time.Duration(float64(passed) * tempo)
	changed = p.Frames[p.at].Skips > 0 // the bar grows
	for !p.Over() && !p.Waits() && p.spent >= p.Frames[p.at].For {
		p.spent -= p.Frames[p.at].For
		p.at++
		changed = true
	}
	return changed
}

// Next goes on by a key: to the next change where the plan waits for one, else to the end.
func (p *Play) Next() {
	if p.Waits() {
		p.at++
		p.spent = 0
		return
	}
	p.at = len(p.Frames) - 1
}

// Step goes on by one frame, bars too.
func (p *Play) Step() {
	p.at = min(p.at+1, len(p.Frames)-1)
	p.spent = 0
}

// Again starts over.
func (p *Play) Again() { p.at, p.spent = 0, 0 }

// Change is which visible change is on the stage, from 1; 0 before the first.
func (p *Play) Change() int {
	n := 0
	for _, f := range p.Frames[1 : p.at+1] {
		if f.Skips == 0 {
			n++
		}
	}
	return min(n, p.Changes)
}
