// Package motion decides what moves on the picture of the cluster, and when: it turns
// events into pulses that take some time to arrive. That time is presentation time: it is
// counted by whoever shows the picture ([Player.Tick]), has nothing to do with the
// cluster's, and stands still unless somebody counts.
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

// Mode is how much may move.
type Mode string

// The modes.
const (
	Full Mode = "full" // things travel
	Calm Mode = "calm" // the whole way lights up, no more than four times a second
	Off  Mode = "none" // the last event stands
)

// Modes are the names of the modes.
func Modes() []string { return []string{string(Full), string(Calm), string(Off)} }

// Means says what a mode does.
func (m Mode) Means() string {
	switch m {
	case Calm:
		return "the whole way lights up, no more than four times a second"
	case Off:
		return "nothing moves; the last event stands"
	}
	return "what happens travels from place to place"
}

// Tempo is how events become pulses, by where we are.
type Tempo struct {
	Take  time.Duration // of a pulse
	Most  int           // at once
	Apart time.Duration // of the pulses of a step
	Merge bool          // one pulse an edge and class: further ones count on it
	Glow  bool          // no pulses: edges glow by rate
	Stand bool          // the last event stands when all have arrived
}

// Live is the tempo of a cluster that runs, or of a recording that is played; speed 0 is
// as fast as possible.
func Live(speed float64) Tempo {
	switch {
	case speed == 0 || speed >= 5:
		return Tempo{Glow: true}
	case speed > 0.5:
		return Tempo{Take: 300 * time.Millisecond, Most: 24, Merge: true}
	case speed > 0.05:
		return Tempo{Take: 450 * time.Millisecond, Most: 24}
	}
	return Tempo{Take: 700 * time.Millisecond, Most: 24}
}

// The tempos of a step.
var (
	Stepped = Tempo{Take: 450 * time.Millisecond, Most: 12, Apart: 90 * time.Millisecond, Stand: true}
	Walked  = Tempo{Take: 250 * time.Millisecond, Most: 12, Apart: 90 * time.Millisecond, Stand: true}
)

// Times of a pulse and of what follows it.
const (
	within    = 1200 * time.Millisecond // all pulses of a step have begun
	afterglow = 600 * time.Millisecond
	lost      = 900 * time.Millisecond // how long a ✗ stands
	lamp      = 400 * time.Millisecond
	emphasis  = 300 * time.Millisecond // how long it stays where it is at least
	calm      = 250 * time.Millisecond // between two changes
	window    = 500 * time.Millisecond // that rates are of
	trail     = 5
	remote    = 8 // pulses at once over SSH
	most      = 4096
)

// Pulse is something on its way.
type Pulse struct {
	Light
	Event *trace.Event // that it shows; of several the newest
	Share float64      // how far it has come
	Count int          // how many it stands for
	Gone  bool         // it was lost here
	Whole bool         // its way is lit whole: it stands, or nothing may travel
	Trail int

	begin, take time.Duration
}

// Glow is what is left on an edge after a pulse, or its rate.
type Glow struct {
	From, To string
	Role     grid.Style
	Level    int // 1 faint to 4
	Count    int // of events a second; 0 where it is no rate
}

// Shot is what is to be drawn now. It is not changed once it is made.
type Shot struct {
	Version uint64
	Pulses  []Pulse
	Lamps   []Pulse // lights in a place; Share is 0
	Waiting []Pulse // that will set out later
	Glows   []Glow
	Event   *trace.Event // the emphasised one: nil at rest
	Place   string       // where it is emphasised
}

// Player makes shots of events. It is not safe for use by several goroutines.
type Player struct {
	mode    Mode
	remote  bool
	blurred bool
	quiet   bool // routine is hidden

	now     time.Duration
	pulses  []Pulse
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

// rate counts what was on a way, in the halves of a window.
type rate struct {
	half  int64
	n     [2]int
	light Light
	event *trace.Event
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
	return len(p.pulses) > 0 || len(p.glows) > 0 || len(p.rates) > 0
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
		if l, ok := Of(e, s); ok && !(p.quiet && l.Rank == Routine) {
			lights = append(lights, Pulse{Light: l, Event: e, Count: 1})
		}
	}
	if len(lights) == 0 {
		return
	}
	switch {
	case p.mode == Off:
		p.stands(lights[len(lights)-1])
	case t.Glow:
		p.glowBy(lights)
	default:
		p.begin(lights, t)
	}
	p.make()
}

// begin sets pulses going.
func (p *Player) begin(lights []Pulse, t Tempo) {
	limit := t.Most
	if p.remote {
		limit = min(limit, remote)
	}
	if p.still() {
		limit = 1
	}
	if t.Stand {
		p.pulses, p.stand = p.pulses[:0], nil
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
		if t.Merge && p.merge(l) {
			continue
		}
		l.begin, l.take = p.now+time.Duration(i)*apart, t.Take
		if step, term := stepOf(l.Event); step > 0 && !t.Stand && !p.still() {
			l.begin, l.take = p.voting.when(step, term, p.now), max(t.Take, ballot)
		}
		if p.still() {
			l.Whole, l.take = true, lamp
		}
		if l.To == "" {
			l.take = max(lamp, t.Take)
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
		p.pulses = highest(p.pulses, limit)
	}
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
			return true
		}
	}
	return false
}

// glowBy counts events on their ways.
func (p *Player) glowBy(lights []Pulse) {
	p.stand = nil
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

func (p *Player) stands(l Pulse) {
	p.drop()
	l.Share, l.Whole, l.Rank = 1, true, Step
	p.stand, p.told = &l, l.Event
}

func (p *Player) drop() {
	p.pulses, p.glows = nil, nil
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
		level := 2
		if p.now >= f.at+afterglow/2 {
			level = 1
		}
		s.Glows = append(s.Glows, Glow{From: f.from, To: f.to, Role: f.role, Level: level})
	}
	p.shine(s)
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
