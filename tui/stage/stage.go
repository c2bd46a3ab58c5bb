// Package stage shows a lesson in beats: one picture with a ring around what matters, two lines
// that say what it is, and below them the question, the goals or what came of them. It shows a
// position of the trace, not the cluster: the cluster may be further, and what happened in half
// a second is shown at the pace of a reader (package director).
//
// Start reading at [Stage], then [Stage.Draw].
package stage

import (
	"strings"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/lessons/director"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
)

// Stage is the stage of the explorer. It is empty unless a lesson in beats is under way.
type Stage struct {
	makers  []pane.Maker
	look    lessons.Look
	history *view.History
	away    bool // the learner explores; the stage comes back where it was
	hands   hands
	tempo   float64
	running bool // a command is
	last    Command
	ran     uint64  // the version of the beat in which it was run
	unsaid  bool    // the strip has no room for what it printed
	show    showing // of what the beat offers
	undo    string

	picture  *picture // what stands on the stage; nil for nothing
	measured *picture // the same, for finding out what changes
	scratch  *grid.Grid
	play     director.Play
	planned  plan
	seen     map[plan]bool // what has been shown is not played again by itself
	missing  []string      // spots that are not on this screen
	homeless []string      // ghosts that have no place on it
	hidden   []hidden      // what the beat hides
	bare     []string      // spots around which no line of a ring can be drawn
	open     []string      // spots whose rings lack a part: words stand there
	above    bool          // the rule asks the question
	crowded  string        // why the question has no room; "" where it has
	plain    *theme.Theme  // looks are told apart as in this theme; nil: by their roles
	follows  bool          // it stands where another stage does
	extra    []string      // rings in the place of those of the beat

	projected bool       // nothing of a learner's own stands on the picture
	expected  []Expected // what a class has said of it
}

// plan is what a plan was made for.
type plan struct {
	version uint64
	stopped bool
	at      uint64
}

// picture is a pane on the stage.
type picture struct {
	*pane.Host
	show string // pane/view
	name string // of the pane
	room room   // rows moved apart for rings
}

// New makes a stage that can show these panes.
func New(makers []pane.Maker) *Stage {
	return &Stage{makers: makers, tempo: 1, scratch: grid.New(0, 0), seen: map[plan]bool{}}
}

// Update takes what there is to show, of which history.
func (s *Stage) Update(look lessons.Look, h *view.History) {
	before := s.look.Beat
	s.look, s.history = look, h
	if look.Recorded != nil {
		s.history = look.Recorded
	}
	switch {
	case look.ID == "" || !look.Active:
		s.away, s.picture, s.planned = false, nil, plan{}
	case look.Beat == nil:
	case before == nil || before.Version != look.Beat.Version:
		s.hands, s.show = hands{}, showing{}
		s.missing = nil
	}
}

// Has reports whether there is a lesson in beats, On whether it is on the screen.
func (s *Stage) Has() bool {
	return s.look.Active && (s.look.Beat != nil || s.look.Setting)
}
func (s *Stage) On() bool { return s.Has() && !s.away }

// Leave lets the learner explore; Return comes back.
func (s *Stage) Leave()  { s.away = true }
func (s *Stage) Return() { s.away = false }

// Busy reports whether something moves by itself.
func (s *Stage) Busy() bool {
	return s.On() && !s.over() && (s.look.Setting || s.look.Beat != nil && (s.look.Beat.Runs || s.show.on || s.playing() && !s.play.Waits()))
}

// playing reports whether a plan is being shown.
func (s *Stage) playing() bool { return len(s.play.Frames) > 0 && !s.play.Over() }

// Tick counts presentation time and reports whether there is something else to draw.
func (s *Stage) Tick(passed time.Duration) bool {
	if !s.On() {
		return false
	}
	if s.show.tick(s, passed) {
		return true
	}
	if len(s.play.Frames) == 0 {
		return false
	}
	return s.play.Tick(passed, s.tempo)
}

// Where is the position on the stage: how many events are before it, and the state there.
func (s *Stage) Where() (pos uint64, st *view.State) {
	b := s.look.Beat
	switch {
	case b.Acts && !b.Stopped:
		return s.history.Len(), s.history.Latest()
	case len(s.play.Frames) > 0 && b.Stopped:
		f, _ := s.play.Frame()
		pos = f.Pos
	default:
		pos = b.From
	}
	if pos <= b.From || pos == 0 {
		return b.From, b.Start
	}
	if st = s.history.At(pos - 1); st == nil { // it has left memory
		return b.From, b.Start
	}
	return pos, st
}

// Event is the event where the stage stands.
func (s *Stage) Event() trace.ID {
	if s.look.Beat == nil {
		return trace.ID{}
	}
	_, st := s.Where()
	return st.Last
}

// set puts the picture of the beat on the stage.
func (s *Stage) set() {
	show := s.look.Beat.Show
	if s.picture != nil && s.picture.show == show {
		return
	}
	s.picture, s.measured = s.make(show), s.make(show)
}

// make makes a picture: "store/logs", "store/keys/registry/pods", "map/picture",
// "object/pods/demo/web-1".
func (s *Stage) make(show string) *picture {
	name, rest, _ := strings.Cut(show, "/")
	for _, make := range s.makers {
		p := make()
		if p.Info().Name != name {
			continue
		}
		pic := &picture{Host: pane.NewHost(p, ""), show: show, name: name}
		shower, ok := p.(pane.Shower)
		if ref, is := object(rest); ok && is {
			shower.Show(ref)
		} else {
			pic.ShowView(rest)
		}
		return pic
	}
	return nil
}

// object is what kind/namespace/name or kind//name stands for.
func object(text string) (trace.Ref, bool) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 {
		return trace.Ref{}, false
	}
	return trace.Ref{Kind: parts[0], Namespace: parts[1], Name: parts[2]}, true
}

// most is how many events of a beat are looked at one by one.
const most = 20_000

// rehearse makes the plan of a beat that has come to its stop.
func (s *Stage) rehearse(w, h int) {
	b := s.look.Beat
	want := plan{b.Version, b.Stopped, b.At}
	if want == s.planned || b.Acts && !b.Stopped {
		return
	}
	s.planned = want
	if s.follows {
		return
	}
	if !b.Stopped {
		s.play = director.Play{}
		return
	}
	if b.Acts {
		s.play = director.Ended(director.Plan{Frames: []director.Frame{{Pos: b.At}}})
		return
	}
	p := s.plan(w, h)
	s.play = director.NewPlay(p)
	if b.Past || b.AtEnd || s.seen[want] {
		s.play = director.Ended(p)
	}
	s.seen[want] = true
}

// plan finds which events of the beat change what it points at.
func (s *Stage) plan(w, h int) director.Plan {
	b := s.look.Beat
	tempo := director.Tempo{Change: b.Tempo, Quiet: b.Quiet, ByKey: b.ByKey, Most: b.Most}
	var events []*trace.Event
	for pos := b.From; pos < b.At && len(events) < most; {
		some, next, lost := s.history.Stream().Read(pos, int(b.At-pos))
		if lost > 0 || len(some) == 0 {
			break
		}
		events, pos = append(events, some...), next
	}
	visible := s.changes(b.Start, events, w, h)
	all := make([]director.Event, len(events))
	for i, e := range events {
		all[i] = director.Event{Pos: b.From + uint64(i), At: e.At, Visible: visible[i]}
	}
	return director.Make(b.From, b.Start.At, all, tempo)
}

// stretch is how many events are looked at together: where the picture is the same before and
// after them, nothing between them is looked at.
const stretch = 24

// changes says of each event whether what the beat points at differs after it.
func (s *Stage) changes(start *view.State, events []*trace.Event, w, h int) []bool {
	visible := make([]bool, len(events))
	fold := view.From(start)
	before := s.sight(fold.Mark(), w, h)
	for from := 0; from < len(events); from += stretch {
		to := min(from+stretch, len(events))
		begin := fold.Mark()
		for _, e := range events[from:to] {
			fold.Apply(e)
		}
		after := s.sight(fold.Mark(), w, h)
		if after == before && to < len(events) {
			continue
		}
		again := view.From(begin)
		last := before
		for i := from; i < to; i++ {
			again.Apply(events[i])
			now := s.sight(again.Mark(), w, h)
			visible[i], last = now != last, now
		}
		before = after
	}
	return visible
}

// endOf is a play at its end.
func endOf(p director.Play) director.Play { return director.Ended(p.Plan) }

// pane is the name of the pane on the stage, "" for none.
func (s *Stage) pane() string {
	if s.picture == nil {
		return ""
	}
	return s.picture.name
}
