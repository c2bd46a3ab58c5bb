package travel

import (
	"math"
	"time"
)

// play goes through the past by itself.
type play struct {
	on    bool
	at    time.Duration // virtual
	speed float64       // virtual seconds in a real one; 0 is as fast as possible
}

// Playing reports whether the past is being played.
func (t *Travel) Playing() bool { return t.play.on }

// Speed is how fast the past is played.
func (t *Travel) Speed() float64 { return t.play.speed }

// SetSpeed changes how fast the past is played.
func (t *Travel) SetSpeed(x float64) { t.play.speed = x }

// Play starts or stops playing the past.
func (t *Travel) Play() {
	on := !t.play.on
	if on && t.Where().At+1 >= t.hist.Len() {
		t.To(t.hist.First())
	}
	t.play.on, t.play.at = on, t.state.At
}

// playOn moves on by the time that has passed; quiet stretches of more than a second
// are skipped.
func (t *Travel) playOn(passed time.Duration) {
	stream, p := t.hist.Stream(), &t.play
	p.at += time.Duration(float64(passed) * p.speed)
	if p.speed <= 0 {
		p.at = math.MaxInt64
	}
	next := stream.Get(t.at + 1)
	if quiet := time.Duration(float64(time.Second) * max(p.speed, 0.02)); next != nil && next.At-quiet > p.at {
		p.at = next.At
	}
	n := t.hist.Len()
	const most = 20_000 // so that a key is never answered late
	for moved := 0; t.at+1 < n && moved < most; moved++ {
		if e := stream.Get(t.at + 1); e == nil || e.At > p.at {
			break
		}
		t.at++
	}
	if t.at+1 >= n {
		p.on, t.live = false, !t.recording
	}
}
