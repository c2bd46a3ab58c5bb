package motion

import (
	"slices"
	"time"

	"kviz/cluster/trace"
)

// rate counts what was on a way, in the halves of a window.
type rate struct {
	half  int64
	n     [2]int
	light Light
	event *trace.Event
}

// glowBy counts events on their ways. What was broken or mended flashes all the same, and
// what was lost is seen on its way.
func (p *Player) glowBy(lights []Pulse) {
	p.stand = nil
	for _, l := range lights {
		if p.still() {
			break
		}
		if l.begin = p.now; l.Class == Faults {
			l.take = flash
		} else if l.Class == Undecided {
			l.take = lamp
		} else if l.take, l.Half = 0, true; !l.Lost || l.To == "" {
			continue
		}
		p.pulses = slices.DeleteFunc(p.pulses, func(q Pulse) bool { return q.From == l.From && q.To == l.To })
		p.pulses = append(p.pulses, l)
	}
	p.count(lights)
	p.flow(lights)
}

// count counts events on their ways.
func (p *Player) count(lights []Pulse) {
	half := int64(p.now / (window / 2))
	for _, l := range lights {
		if l.Rank == Routine {
			continue
		}
		k := edge{l.From, l.To}
		r := p.rates[k]
		if r == nil {
			r = &rate{half: half}
			p.rates[k] = r
		}
		r.turn(half)
		r.n[1]++
		r.light, r.event = l.Light, l.Event
	}
}

// turn drops what is older than the window.
func (r *rate) turn(half int64) {
	switch {
	case half == r.half+1:
		r.n[0], r.n[1] = r.n[1], 0
	case half > r.half+1:
		r.n = [2]int{}
	}
	r.half = half
}

// shine adds the ways that glow by their rate, in an order of their own.
func (p *Player) shine(s *Shot) {
	from := len(s.Glows)
	for k, r := range p.rates {
		n := r.n[0] + r.n[1]
		level := 1
		for _, step := range []int{5, 25, 125} {
			if n >= step {
				level++
			}
		}
		if k.to == "" {
			s.Lamps = append(s.Lamps, Pulse{Light: r.light, Event: r.event, Count: n})
			continue
		}
		s.Glows = append(s.Glows, Glow{From: k.from, To: k.to, Role: r.light.Role, Level: level, Count: n * int(time.Second/window)})
	}
	slices.SortFunc(s.Glows[from:], func(a, b Glow) int { return compare(a.From, b.From, a.To, b.To) })
	slices.SortStableFunc(s.Lamps, func(a, b Pulse) int { return compare(a.From, b.From, "", "") })
}

func compare(a, b, c, d string) int {
	switch {
	case a < b, a == b && c < d:
		return -1
	case a > b, a == b && c > d:
		return 1
	}
	return 0
}
