package motion

import (
	"time"

	"kviz/cluster/trace"
	"kviz/tui/grid"
	"kviz/tui/theme"
)

// Pulse is something on its way.
type Pulse struct {
	Light
	Event  *trace.Event // that it shows; of several the newest
	Share  float64      // how far it has come
	Count  int          // how many it stands for
	Gone   bool         // it was lost here
	Whole  bool         // its way is lit whole: it stands, or nothing may travel
	Trail  int
	Bright bool // of what was broken or mended, or was not decided: the flash is on
	Slides bool // of an election timeout: it runs down from this mark to the next

	begin, take time.Duration
}

// Glow is what is left on an edge after a pulse, or its rate.
type Glow struct {
	From, To string
	Role     grid.Style
	Level    int // 1 to 4: a thin line of the role, a heavy faint one, a heavy one, a bold one
	Count    int // of events a second; 0 where it is no rate
}

// Shot is what is to be drawn now. It is not changed once it is made.
type Shot struct {
	Version uint64
	Pulses  []Pulse
	Lamps   []Pulse // lights in a place; Share is 0
	Waiting []Pulse // that will set out later
	Glows   []Glow
	Keys    []Key        // of work queues, on their way
	Event   *trace.Event // the emphasised one: nil at rest
	Place   string       // where it is emphasised
}

// make makes the shot.
func (p *Player) make() {
	p.version++
	s := &Shot{Version: p.version}
	emphasised := -1
	for i, q := range p.pulses {
		if p.now < q.begin {
			s.Waiting = append(s.Waiting, q)
			continue
		}
		q.Share = 1
		if q.take > 0 {
			q.Share = smooth(float64(p.now-q.begin) / float64(q.take))
		}
		if q.Lost && q.To != "" {
			stop := 1.0
			if q.Half {
				stop = 0.5
			}
			if q.Share *= stop; p.now >= q.begin+q.take {
				q.Glyph, q.Role, q.Gone = '✗', theme.Bad, true
			}
		}
		if q.Whole {
			q.Share = 1
		}
		switch {
		case p.still():
		case q.Class == Faults:
			q.Bright = flashes(p.now - q.begin)
		case q.Class == Undecided:
			q.Bright = true
		}
		if emphasised < 0 || q.Rank >= p.pulses[emphasised].Rank {
			emphasised = i
		}
		if q.To == "" {
			s.Lamps = append(s.Lamps, q)
		} else {
			s.Pulses = append(s.Pulses, q)
		}
	}
	p.tell(emphasised)
	for i := range s.Pulses {
		if s.Pulses[i].Event == p.told && p.told != nil {
			s.Pulses[i].Trail = trail
		}
	}
	for _, f := range p.glows {
		level := 3
		if p.now >= f.at+afterglow/2 {
			level = 2
		}
		s.Glows = append(s.Glows, Glow{From: f.from, To: f.to, Role: f.role, Level: level})
	}
	p.shine(s)
	s.Keys = p.keysNow()
	if s.Event = p.told; p.told != nil {
		s.Place = p.where()
	}
	if p.stand != nil && len(p.pulses) == 0 {
		s.Event, s.Place = p.stand.Event, placeOf(p.stand.Light)
		if p.stand.To == "" {
			s.Lamps = append(s.Lamps, *p.stand)
		} else {
			s.Pulses = append(s.Pulses, *p.stand)
		}
	}
	p.shot = s
}

// flashes reports whether a flash is on so long after it began: twice, with a pause.
func flashes(since time.Duration) bool { return since < flash && since/(flash/4)%2 == 0 }

// tell moves the emphasis to the pulse of the highest rank, unless it has just moved.
func (p *Player) tell(to int) {
	if p.told != nil && p.now < p.since+emphasis {
		for _, q := range p.pulses {
			if q.Event == p.told && p.now >= q.begin {
				return
			}
		}
	}
	var e *trace.Event
	if to >= 0 {
		e = p.pulses[to].Event
	}
	if e != p.told {
		p.told, p.since = e, p.now
	}
}

// where is the place that has the emphasis.
func (p *Player) where() string {
	for _, q := range p.pulses {
		if q.Event == p.told {
			return placeOf(q.Light)
		}
	}
	return ""
}

// placeOf is the place that a light is about: where it goes, or where it shines; a lost one
// never came there.
func placeOf(l Light) string {
	if l.To == "" || l.Lost {
		return l.From
	}
	return l.To
}

// smooth begins slowly and ends slowly.
func smooth(x float64) float64 {
	x = min(max(x, 0), 1)
	return x * x * (3 - 2*x)
}
