package walk

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/tui/timeline"
)

// Config is a run that is walked through.
type Config struct {
	Title   string          // "run.kvrun"
	Cluster lessons.Cluster // a live one, or a [Recording]
	History *view.History
	Marks   *Marks
	Panes   []string // their names, in the order of their keys
}

// Player walks through a run. It is what package lead asks of a lesson's player; its methods return at once and may be called
// from any goroutine.
//
// It stands at a mark, at an event between marks, or, in a live run, at its newest event. Where nobody has set a mark, it goes by
// the commands, faults and elections of the run.
type Player struct {
	cfg  Config
	live bool

	mu    sync.Mutex
	index timeline.Index // of commands, faults and elections
	known []place        // the marks, as they were found in the run
	of    []Mark         // for which marks known is
	no    int            // the mark at which it stands, or that it has passed last, from 0; -1 is before the first
	here  bool           // it stands at the mark
	now   bool           // it stands at the newest event, and stays there
	beat  lessons.BeatLook
	walk  *lessons.WalkLook
	show  string // the pane
	count uint64 // how often it has moved
}

// place is a mark, and where in the stream it is.
type place struct {
	Mark
	id       string // of its beat
	from, at uint64 // how many events are before the first that is played, and before the one after it
}

// How a way is shown: as long as a beat to see has it, but the longest way in few seconds.
const (
	tempo   = 600 * time.Millisecond
	quiet   = time.Second
	longest = 10 * time.Second
	mostWay = 4000 // events; of a longer way the end is shown
)

// NewPlayer makes a player that stands nowhere yet. The history has been folded as far as the run goes.
func NewPlayer(cfg Config) *Player {
	_, recorded := cfg.Cluster.(*Recording)
	return &Player{cfg: cfg, live: !recorded, no: -1, show: cfg.Panes[0]}
}

// Start begins a walk: at a beat ("#8841" is the mark at that event, or the event), or, for "", at the first mark; in a live run
// without marks at its newest event.
func (p *Player) Start(beat string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seek()
	if beat != "" {
		if n := slices.IndexFunc(p.known, func(k place) bool { return k.id == beat }); n >= 0 {
			p.stand(n, p.known[n].from, true)
			return nil
		}
		if id, err := trace.ParseID(beat); err == nil {
			if _, pos, ok := p.cfg.History.Stream().At(id); ok {
				p.move(pos + 1)
				return nil
			}
			if !p.live {
				return fmt.Errorf("%s has no event #%s", p.cfg.Title, id)
			}
		}
	}
	switch {
	case p.live && len(p.of) == 0:
		p.follow()
	case len(p.known) > 0:
		p.stand(0, p.known[0].from, true)
	case p.cfg.History.Len() > 0:
		p.move(p.cfg.History.Len())
	default:
		return errors.New("there is nothing in this run to walk through")
	}
	return nil
}

// seek finds the marks in the run. The lock is held.
func (p *Player) seek() {
	stream, set := p.cfg.History.Stream(), p.cfg.Marks.All()
	p.of = set
	was := ""
	if p.no >= 0 && p.no < len(p.known) {
		was = p.known[p.no].id
	}
	all := set
	if len(set) == 0 {
		all = p.found()
	}
	p.known = p.known[:0:0]
	seen := map[trace.ID]int{}
	for _, m := range all {
		_, pos, ok := stream.At(m.At)
		if !ok || pos >= p.cfg.History.Len() { // of another run, or it has left memory
			continue
		}
		k := place{Mark: m, id: "#" + m.At.String(), from: pos, at: pos + 1}
		if seen[m.At]++; seen[m.At] > 1 {
			k.id += "/" + strconv.Itoa(seen[m.At])
		}
		if _, first, ok := stream.At(m.From); ok && !m.From.IsZero() {
			k.from = first
		}
		p.known = append(p.known, k)
	}
	p.no = slices.IndexFunc(p.known, func(k place) bool { return k.id == was })
	if !p.here || p.no < 0 {
		p.here = false
		p.passed(p.at())
	}
	w := &lessons.WalkLook{Live: p.live}
	for i := range p.known {
		w.Marks = append(w.Marks, lessons.MarkLook{ID: p.known[i].id, Title: p.known[i].Title()})
	}
	p.walk = w
}

// found are marks at the commands, faults and elections of the run. The lock is held.
func (p *Player) found() (all []Mark) {
	stream := p.cfg.History.Stream()
	p.index.Catch(stream, 1<<20)
	marks := p.index.Marks()
	for _, k := range marks[max(0, len(marks)-mostMarks):] {
		e := stream.Get(k.Pos)
		if e == nil {
			continue
		}
		m := Mark{At: e.ID, Show: p.cfg.Panes[0], Say: sentence(e)}
		if e.Kind == trace.MemberRole && slices.Contains(p.cfg.Panes, "store") {
			m.Show = "store"
		}
		all = append(all, m)
	}
	return all
}

// sentence is what an event says of itself.
func sentence(e *trace.Event) string {
	if e == nil {
		return ""
	}
	return view.Explain(e) + "."
}

// stand stands at a mark, whose way is shown from a position on; ended: it is shown when that is asked for. The lock is held.
func (p *Player) stand(n int, from uint64, ended bool) {
	k := &p.known[n]
	p.no, p.here, p.now = n, true, false
	for i := n; i >= 0; i-- { // what the mark shows, or the one before
		if show := p.known[i].Show; show != "" {
			p.show = show
			break
		}
	}
	p.beat = lessons.BeatLook{
		ID: k.id, Title: k.Title(), Spots: k.Spots, Big: k.Big, Stopped: true,
		Before: cmp.Or(k.Say, sentence(p.cfg.History.Stream().Get(k.at-1))), AtEnd: ended,
	}
	p.between(from, k.at)
}

// move stands at an event, by how many are before the one after it. The lock is held.
func (p *Player) move(at uint64) {
	p.now, p.here = false, false
	p.passed(at)
	e := p.cfg.History.Stream().Get(at - 1)
	p.beat = lessons.BeatLook{Title: "between marks", Stopped: true, Before: sentence(e), AtEnd: true}
	p.beat.ID = p.id()
	if e != nil && p.beat.ID == "" {
		p.beat.ID = "#" + e.ID.String()
	}
	p.between(at-1, at)
}

// passed notes the last mark before a position. The lock is held.
func (p *Player) passed(at uint64) {
	p.no = -1
	for i := range p.known {
		if p.known[i].at <= at {
			p.no = i
		}
	}
}

// follow stands at the newest event, and stays there. The lock is held.
func (p *Player) follow() {
	p.now, p.here, p.no = true, false, len(p.known)-1
	p.beat = lessons.BeatLook{ID: "now", Title: "now", Acts: true, Start: p.cfg.History.Latest()}
	p.count++
	p.beat.Version = p.count
}

// id is the beat at which the class is: that of the mark it has come to; "" before the first.
func (p *Player) id() string {
	if p.no < 0 {
		return ""
	}
	return p.known[p.no].id
}

// between sets what of the trace is shown: the events from one position on, before another. The lock is held.
func (p *Player) between(from, at uint64) {
	h := p.cfg.History
	if at > mostWay {
		from = max(from, at-mostWay)
	}
	from = max(from, h.First())
	b := &p.beat
	b.From, b.At = min(from, at), at
	b.Start = view.NewBuilder().Mark()
	if b.From > h.First() {
		if s := h.At(b.From - 1); s != nil {
			b.Start = s
		}
	}
	if s := h.At(at - 1); s != nil {
		b.Event = s.Event
	}
	b.Tempo, b.Quiet, b.Most = tempo, quiet, longest
	p.count++
	b.Version = p.count
}

// at is where it stands: how many events are before the one after it. The lock is held.
func (p *Player) at() uint64 {
	if p.now {
		return p.cfg.History.Len()
	}
	return p.beat.At
}

// Look is what the class sees now.
func (p *Player) Look() lessons.Look {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.beat.ID == "" {
		return lessons.Look{Active: true, Setting: true, ID: "walk", Title: p.cfg.Title, Text: "Reading the run …", Walk: &lessons.WalkLook{Live: p.live}}
	}
	walk, b := *p.walk, p.beat
	walk.Here = p.here
	b.Show = p.show
	look := lessons.Look{
		Active: true, ID: "walk", Title: p.cfg.Title, Walk: &walk, Kind: lessons.See, Step: p.no + 1, Steps: len(p.known), Beat: &b,
		CanNext: p.no+1 < len(p.known) || p.live && !p.now,
	}
	if p.here {
		look.Notes = p.known[p.no].Note
	}
	if p.now {
		look.Kind = lessons.Free
		b.Start = p.cfg.History.Latest()
		b.Before = p.told(b.Start)
		b.Runs = !p.cfg.Cluster.Clock().Paused
	}
	return look
}

// told is what is said while a live run is followed: the newest of its commands, faults and elections. The lock is held.
func (p *Player) told(s *view.State) string {
	stream := p.cfg.History.Stream()
	p.index.Catch(stream, 4096)
	if m, ok := p.index.Before(p.cfg.History.Len()); ok {
		return sentence(stream.Get(m.Pos))
	}
	return sentence(s.Event)
}

// LookAs is Look: nobody has said anything.
func (p *Player) LookAs(map[string]lessons.Answer) lessons.Look { return p.Look() }

// Whole, Right and Words are of answers to questions, of which a walk has none.
func (p *Player) Whole(string, lessons.Answer) bool                { return false }
func (p *Player) Right(string, lessons.Answer) (right, known bool) { return false, false }
func (p *Player) Words(string, lessons.Answer) string              { return "" }

// Errors of a walk.
var (
	errLast  = errors.New("this is the last mark: . goes on by events, m sets a mark")
	errFirst = errors.New("this is the first mark: , goes back by events")
	errNow   = errors.New("this is the newest event: k stops the run, : runs a command in it, m sets a mark")
)

// Do does what a key asks for:
//
//	next     the next mark; behind the last one of a live run, its newest event
//	back     the mark before
//	event N  N events on, back for a negative number
//	pane N   another pane, by its key
//	pause    the live run stands, or goes on
//	again    the same as going to the mark anew
func (p *Player) Do(what string) error {
	word, arg, _ := strings.Cut(what, " ")
	if word == "pause" {
		return p.pause()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.beat.ID == "" {
		return errors.New("the run is still being read")
	}
	p.seek()
	n, err := strconv.Atoi(arg)
	switch word {
	case "next":
		return p.next()
	case "back":
		return p.back()
	case "event":
		if err != nil {
			return fmt.Errorf("event %q: want a number", arg)
		}
		return p.step(n)
	case "pane":
		if err != nil || n < 1 || n > len(p.cfg.Panes) {
			return fmt.Errorf("there is no pane %s: 1 to %d", arg, len(p.cfg.Panes))
		}
		p.show = p.cfg.Panes[n-1]
		p.beat.Spots = nil
		return nil
	}
	return errors.New("that is done in lessons; this is a walk")
}

// next goes to the next mark, and shows the way there. The lock is held.
func (p *Player) next() error {
	at := p.at()
	n := p.no + 1
	if !p.here || p.now { // by where it stands
		n = slices.IndexFunc(p.known, func(k place) bool { return k.at > at })
	}
	switch {
	case n >= 0 && n < len(p.known) && !p.now:
		from := at
		if k := &p.known[n]; !k.From.IsZero() || k.at <= at {
			from = k.from
		}
		p.stand(n, from, false)
		return nil
	case !p.live:
		return errLast
	case p.now:
		return errNow
	}
	p.follow()
	return nil
}

// back goes to the mark before, at its end. The lock is held.
func (p *Player) back() error {
	n := p.no - 1
	if !p.here { // the one that was left
		n = p.no
	}
	if n < 0 {
		return errFirst
	}
	from := p.known[n].from
	if n > 0 && p.known[n].From.IsZero() {
		from = min(from, p.known[n-1].at)
	}
	p.stand(n, from, true)
	return nil
}

// step goes on by events. The lock is held.
func (p *Player) step(by int) error {
	h := p.cfg.History
	first, last := h.First()+1, h.Len()
	to := int64(p.at()) + int64(by)
	switch {
	case last < first:
		return errors.New("nothing has happened yet")
	case to < int64(first):
		return errors.New("this is the oldest event there is")
	case to > int64(last) && p.live:
		p.follow()
		return nil
	case to > int64(last):
		return errors.New("this is the last event of the recording")
	}
	p.move(uint64(to))
	return nil
}

func (p *Player) pause() error {
	switch {
	case !p.live:
		return control.ErrRecording
	case p.cfg.Cluster.Clock().Paused:
		return p.cfg.Cluster.Resume()
	}
	return p.cfg.Cluster.Pause()
}

// Command is that a command is about to be run: what is done is done now. It refuses one that cannot be.
func (p *Player) Command(string) error {
	if !p.live {
		return control.ErrRecording
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.now && p.beat.ID != "" {
		p.follow()
	}
	return nil
}

// Mark sets a mark at an event, with the pane that is shown.
func (p *Player) Mark(at trace.ID, spots []string, words string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at.IsZero() {
		return errors.New("nothing has happened yet that could have a mark")
	}
	of, _, _ := strings.Cut(p.show, "/")
	m := Mark{At: at, Show: p.show, Say: words}
	for _, s := range spots {
		if strings.HasPrefix(s, of+":") && len(m.Spots) < mostSpots {
			m.Spots = append(m.Spots, s)
		}
	}
	if err := p.cfg.Marks.Set(m); err != nil {
		return err
	}
	pos := p.at()
	p.seek()
	if _, marked, ok := p.cfg.History.Stream().At(at); ok && !p.now && marked+1 == pos { // it stands at the new mark
		for i := range p.known {
			if p.known[i].at == pos {
				p.no = i
			}
		}
		p.stand(p.no, p.known[p.no].from, true)
	}
	return nil
}
