// Package motion decides what moves on the picture of the cluster, and when: it turns
// events into pulses that take some time to arrive. That time is presentation time:
// whoever shows the picture advances it ([Player.Tick]); it has nothing to do with the
// cluster's time.
//
// Start reading at [Player], then [Of] (what an event makes) and rules.go (the table of
// all kinds).
package motion

import (
	"slices"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/theme"
)

// Times of a pulse and of what follows it.
const (
	within    = 1200 * time.Millisecond // all pulses of a step have begun
	afterglow = 600 * time.Millisecond
	lost      = 900 * time.Millisecond // how long a ✗ stands
	lamp      = 400 * time.Millisecond
	flash     = time.Second            // twice on, twice off
	emphasis  = 300 * time.Millisecond // how long it stays where it is at least
	calm      = 250 * time.Millisecond // between two changes
	window    = 500 * time.Millisecond // that rates are of
	trail     = 5
	remote    = 8 // pulses at once over SSH
	most      = 4096
)

// Player makes shots of events. It is not safe for use by several goroutines.
type Player struct {
	mode    Mode
	remote  bool
	blurred bool
	quiet   bool // routine is hidden

	now     time.Duration
	pulses  []Pulse
	keys    []Key // of work queues
	glows   []fading
	rates   map[edge]*rate
	voting  election
	stand   *Pulse // what stands
	told    *trace.Event
	since   time.Duration // it is told
	changed time.Duration // the last change in calm mode
	version uint64
	shot    *Shot
}

type edge struct{ from, to string }

// fading is a way that something has just come along.
type fading struct {
	edge
	role grid.Style
	at   time.Duration
}

// New makes a player.
func New(mode Mode) *Player {
	if !slices.Contains(Modes(), string(mode)) {
		mode = Full
	}
	p := &Player{mode: mode, rates: map[edge]*rate{}}
	p.make()
	return p
}

// SetMode changes how much may move.
func (p *Player) SetMode(m Mode) {
	p.Finish()
	p.mode = m
	p.make()
}

// Mode is how much may move.
func (p *Player) Mode() Mode { return p.mode }

// Remote has fewer pulses at once, for a screen that is far away.
func (p *Player) Remote(on bool) { p.remote = on }

// Blur has the motion be calm while nobody looks.
func (p *Player) Blur(on bool) { p.blurred = on }

// Routine hides or shows what never ends.
func (p *Player) Routine(shown bool) { p.quiet = !shown }

func (p *Player) still() bool { return p.mode != Full || p.blurred }

// Shot is what is to be drawn now.
func (p *Player) Shot() *Shot { return p.shot }

// Busy reports whether time has to be counted on: something is on its way, or fades.
func (p *Player) Busy() bool {
	return len(p.pulses) > 0 || len(p.keys) > 0 || len(p.glows) > 0 || len(p.rates) > 0
}

// Catch takes events in the order in which they happened; the state is that after the
// last of them.
func (p *Player) Catch(events []*trace.Event, s *view.State, t Tempo) {
	if len(events) == 0 {
		return
	}
	events = events[max(len(events)-most, 0):]
	var lights []Pulse
	for _, e := range events {
		if !p.still() {
			lights = append(lights, undecided(e, s)...)
		}
		if l, ok := Of(e, s); ok && !(p.quiet && l.Rank == Routine) {
			lights = append(lights, Pulse{Light: l, Event: e, Count: 1})
		}
	}
	if len(lights) == 0 {
		return
	}
	switch {
	case p.mode == Off:
		i := lastingOf(lights)
		if i < 0 { // what stood goes on standing
			return
		}
		p.stands(lights[i])
	case t.Glow:
		p.glowBy(lights)
	default:
		p.begin(lights, t)
	}
	p.make()
}

// lastingOf is which of some lights is to stand where nothing moves: the last that is told, else the
// last that is no routine; -1 if all are, for that would change the picture all the time.
func lastingOf(lights []Pulse) int {
	last := -1
	for i := len(lights) - 1; i >= 0; i-- {
		switch l := lights[i]; {
		case view.Told(l.Event):
			return i
		case last < 0 && l.Rank != Routine && !quiet(l.Event):
			last = i
		}
	}
	return last
}

// most is how many may be on their way at once.
func (p *Player) most(t Tempo) int {
	switch {
	case p.still():
		return 1
	case p.remote:
		return min(t.Most, remote)
	}
	return t.Most
}

// begin sets pulses going.
func (p *Player) begin(lights []Pulse, t Tempo) {
	limit := p.most(t)
	if t.Stand {
		p.pulses, p.keys, p.stand = p.pulses[:0], p.keys[:0], nil
		if n := len(lights); n > limit { // the ranks decide, the order stays; the last one is where we are
			last := lights[n-1]
			lights = append(highest(lights[:n-1], limit-1), last)
		}
	} else {
		p.stand = nil
	}
	apart := t.Apart
	if n := len(lights); n > 1 && t.Apart > 0 {
		apart = min(apart, within/time.Duration(n))
	}
	for i, l := range lights {
		if k, ok := keyOf(l.Event); ok {
			p.move(k, p.now+time.Duration(i)*apart, t)
		}
		if t.Merge && p.merge(l) {
			continue
		}
		l.begin, l.take = p.now+time.Duration(i)*apart, t.Take
		if step, term := stepOf(l.Event); step > 0 && l.Class != Undecided && !t.Stand && !p.still() {
			l.begin, l.take = p.voting.when(step, term, p.now), max(t.Take, ballot)
		}
		if p.still() {
			l.Whole, l.take = true, lamp
		}
		if l.Class == Undecided && !t.Stand { // when all that was asked and answered in it has arrived
			l.begin = max(l.begin, p.voting.end)
		}
		if l.To == "" {
			if l.take = max(lamp, t.Take); l.Class == Faults && !p.still() {
				l.take = flash
			}
			if d := quarter(l.Event); d > 0 && !t.Stand && !p.still() {
				l.take, l.Slides = d, true
			}
		}
		if t.Stand {
			l.Rank = Step
			if i == len(lights)-1 {
				last := l
				last.Share, last.Whole = 1, true
				p.stand = &last
			}
		}
		p.pulses = append(p.pulses, l)
	}
	if len(p.pulses) > limit {
		all := p.pulses
		if p.pulses = highest(all, limit); !t.Stand && !p.still() {
			p.count(left(all, p.pulses))
		}
	}
}

// left are the lights of those that were not kept.
func left(all, kept []Pulse) []Pulse {
	var out []Pulse
	for _, q := range all {
		if len(kept) > 0 && kept[0].Event == q.Event && kept[0].begin == q.begin {
			kept = kept[1:]
			continue
		}
		out = append(out, q)
	}
	return out
}

// highest are the n of the highest rank, of equals the newest, in their order.
func highest(all []Pulse, n int) []Pulse {
	if len(all) <= n {
		return all
	}
	index := make([]int, len(all))
	for i := range index {
		index[i] = i
	}
	slices.SortStableFunc(index, func(a, b int) int {
		if all[a].Rank != all[b].Rank {
			return int(all[b].Rank) - int(all[a].Rank)
		}
		return b - a
	})
	index = index[:max(n, 0)]
	slices.Sort(index)
	kept := make([]Pulse, 0, n)
	for _, i := range index {
		kept = append(kept, all[i])
	}
	return kept
}

// merge counts a light on one that is on the same way, and reports whether there is one.
func (p *Player) merge(l Pulse) bool {
	for i := range p.pulses {
		q := &p.pulses[i]
		if q.From == l.From && q.To == l.To && q.Class == l.Class && q.Class != Ballots && q.Lost == l.Lost && p.now < q.begin+q.take {
			q.Count++
			q.Event, q.Glyph, q.Role, q.Label = l.Event, l.Glyph, l.Role, l.Label
			q.Rank = max(q.Rank, l.Rank)
			if d := quarter(l.Event); d > 0 && !p.still() {
				q.begin, q.take, q.Slides = p.now, d, true
			} else if q.Slides { // it hears again, or may stand at any moment
				q.take, q.Slides = p.now-q.begin+lamp, false
			}
			return true
		}
	}
	return false
}

// Stand shows an event without any motion: it stands. One that makes no light leaves the
// picture at rest.
func (p *Player) Stand(e *trace.Event, s *view.State) {
	p.drop()
	p.stand, p.told = nil, nil
	if e != nil {
		if l, ok := Of(e, s); ok {
			p.stands(Pulse{Light: l, Event: e, Count: 1})
		}
	}
	p.make()
}

// End makes an event the one that stands when a step's motion is over. Where it makes no light of
// its own, its place is lit; one that happens nowhere in the cluster leaves the picture at rest.
func (p *Player) End(e *trace.Event, s *view.State) {
	p.stand = nil
	if e != nil {
		l, ok := Of(e, s)
		if !ok {
			l = Light{From: PlaceOf(e.Lane, s), Class: Works, Glyph: '●', Role: theme.Busy}
		}
		if l.From != "" {
			l.Rank = Step
			p.stand = &Pulse{Light: l, Event: e, Count: 1, Share: 1, Whole: true}
		}
	}
	p.make()
}

func (p *Player) stands(l Pulse) {
	p.drop()
	l.Share, l.Whole, l.Rank = 1, true, Step
	p.stand, p.told = &l, l.Event
}

func (p *Player) drop() {
	p.pulses, p.keys, p.glows = nil, nil, nil
	clear(p.rates)
}

// Finish ends every motion at once: a step's last event stands, all else is at rest.
func (p *Player) Finish() {
	if !p.Busy() {
		return
	}
	p.drop()
	p.told = nil
	p.make()
}

// Tick counts presentation time and reports whether there is something else to draw.
func (p *Player) Tick(passed time.Duration) bool {
	if !p.Busy() {
		return false
	}
	p.now += passed
	kept := p.pulses[:0]
	for _, q := range p.pulses {
		end := q.begin + q.take
		switch {
		case q.Lost && p.now < end+lost, p.now < end:
			kept = append(kept, q)
		case q.To != "" && !q.Lost && p.mode == Full:
			p.glows = append(p.glows, fading{edge{q.From, q.To}, q.Role, end})
		}
	}
	p.pulses = kept
	p.keys = slices.DeleteFunc(p.keys, func(k Key) bool { return p.now >= k.end() })
	p.glows = slices.DeleteFunc(p.glows, func(f fading) bool { return p.now >= f.at+afterglow })
	half := int64(p.now / (window / 2))
	for k, r := range p.rates {
		if r.turn(half); r.n == [2]int{} {
			delete(p.rates, k)
		}
	}
	if p.still() && p.now < p.changed+calm && p.Busy() {
		return false
	}
	p.changed = p.now
	p.make()
	return true
}
