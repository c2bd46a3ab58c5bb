package sim

import "time"

// Pace says how virtual time keeps up with real time at a finite speed.
type Pace struct {
	Speed  float64 // virtual seconds in a real one, as they should pass
	Actual float64 // as they do
	// Store: most of what is missing was waited for the store. Else the processor
	// was busy, with the cluster or with something else.
	Store bool
}

// Behind reports whether virtual time falls behind.
func (p Pace) Behind() bool { return p.Actual < p.Speed }

// meter compares what virtual time passes with what should, a window of real time
// after another.
type meter struct {
	wall  time.Time // where the window began
	virt  time.Duration
	store time.Duration // what of it was waited for the store
	short bool          // the one before was a little short
	told  Pace
}

// window is as long as somebody looks at a number.
const window = 2 * time.Second

// A window that is a little short tells nothing alone: the machine may have looked
// away for a moment, which is caught up with in the next one.
const (
	aLittle = 0.98
	much    = 0.9
)

func (m *meter) begin(wall time.Time, virt time.Duration) { m.wall, m.virt, m.store = wall, virt, 0 }

// note takes down that virtual time has reached virt, and gives what is worth
// telling.
func (m *meter) note(wall time.Time, virt time.Duration, speed float64) (p Pace, news bool) {
	passed := wall.Sub(m.wall).Seconds()
	if passed < window.Seconds() {
		return Pace{}, false
	}
	p = Pace{Speed: speed, Actual: speed}
	actual := (virt - m.virt).Seconds() / passed
	share := actual / speed
	if share < much || share < aLittle && m.short {
		p.Actual, p.Store = actual, m.store.Seconds() > passed*(1-share)/2
	}
	m.short = share < aLittle
	m.begin(wall, virt)
	before := m.told
	switch {
	case p.Behind() != before.Behind():
	case !p.Behind() || p.Speed == before.Speed && p.Store == before.Store && within(p.Actual, before.Actual, 0.1*speed):
		return Pace{}, false
	}
	m.told = p
	return p, true
}

func within(a, b, d float64) bool { return a-b < d && b-a < d }

// measure tells when virtual time begins to fall behind real time and when it
// keeps up again. next is when it can move next.
func (k *Kernel) measure(next time.Duration) {
	p := &k.pace
	at, tied := p.reached()
	if !tied || p.demanded || p.speed == Max {
		return
	}
	if news, ok := p.meter.note(time.Now(), min(at, next), p.rate()); ok && k.cfg.Pace != nil {
		k.cfg.Pace(news)
	}
}
