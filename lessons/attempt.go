package lessons

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kviz/cluster/expr"
	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// Attempt is one attempt at a lesson in beats. It folds the trace twice. The stage stands at a
// position: a beat that shows something goes on to its stop and no further, whatever the
// cluster does meanwhile, and the next beat begins there. The session judges goals and
// predictions: in a beat where something is done it is at the newest event, elsewhere where the
// stage is. An attempt belongs to one goroutine.
type Attempt struct {
	*Session
	stream *trace.Stream
	judged uint64 // position of the next event for the session
	stage  fold
	spans  []Span   // of the beats that were entered
	first  uint64   // how many events there were before the first beat
	ends   []uint64 // how many there were as each beat was left

	passedAt uint64            // position after the event with which the goals of the beat under way were met; 0 before
	did      trace.ID          // what the learner did last in the beat under way; zero for nothing
	heard    uint64            // position of the next event for [Attempt.listen]
	waiting  map[trace.ID]bool // commands that a beat has offered and that run
	unbound  []Binding         // names of the beat's beginning, as long as one has no value
	unknown  error             // why that one has none
}

// fold is a fold of the trace up to a position.
type fold struct {
	b    *view.Builder
	next uint64 // position of the next event
}

// Span is what a beat shows of the trace: the events from From on, before At.
type Span struct {
	From    uint64 // position of the first event after the beat began
	At      uint64 // position after the event where it stands
	Stopped bool   // its stop has come, or it has none: it stands

	begun  bool // its first event has come
	start  *view.State
	end    *view.State // nil until it has stopped
	values expr.Values // what names stood for at its end
}

// Start is the state in which the beat begins.
func (s *Span) Start() *view.State { return s.start }

// NewAttempt begins an attempt at a state of a cluster with so many events before it.
func NewAttempt(l *Lesson, start *view.State, stream *trace.Stream, next uint64) *Attempt {
	a := &Attempt{Session: NewSession(l, start), stream: stream, judged: next, heard: next, waiting: map[trace.ID]bool{}, stage: fold{view.From(start), next}, first: next}
	a.Enter(0)
	return a
}

// Beat is the beat under way, and its number from 0.
func (a *Attempt) Beat() (*Step, int) { return a.Lesson.Steps[a.at], a.at }

// Span is what a beat that was entered shows.
func (a *Attempt) Span(beat int) *Span { return &a.spans[beat] }

// Acts reports whether a beat is one in which the learner does something: its position is that
// of the newest event, unless it has a stop.
func (s *Step) Acts() bool { return s.Kind == Do || s.Kind == Break || s.Kind == Free }

// Enter begins a beat, where the one before it stands.
func (a *Attempt) Enter(beat int) {
	step := a.Lesson.Steps[beat]
	if beat > 0 && len(a.ends) == beat-1 {
		a.ends = append(a.ends, a.stream.Len())
	}
	if step.Acts() { // what is done is done now
		for a.follow(batch) == batch {
		}
		a.stage = fold{view.From(a.b.Mark()), a.judged}
	}
	seeks := step.Stage.From != nil && !step.Acts()
	for i := beat - 1; seeks && i >= 0; i-- { // what was done last is where such a beat looks from
		if a.Lesson.Steps[i].Acts() {
			a.stage = fold{view.From(a.spans[i].start), a.spans[i].From}
			break
		}
	}
	clear(a.lost)
	clear(a.doings.deleted)
	a.at, a.unbound, a.did, a.passedAt = beat, nil, trace.ID{}, 0
	a.spans = append(a.spans[:beat], Span{From: a.stage.next, At: a.stage.next, start: a.stage.b.Mark()})
	if !seeks {
		a.begin()
	}
}

// batch bounds how many events are judged at a time.
const batch = 512

// begin binds the names of the beat's beginning. A value that is not known then, such as the
// leader's name during an election, is taken when it is.
func (a *Attempt) begin() {
	step, span := a.Lesson.Steps[a.at], &a.spans[a.at]
	span.begun, span.From, span.start = true, a.stage.next, a.stage.b.Mark()
	st := a.stage.b.Live()
	a.unbound = step.Stage.Let
	a.bindLate(st)
	a.lasting(step, st)
	if q := step.Question; q != nil && q.reveal != nil {
		if p, err := q.reveal.compiled(); err == nil && !p.Mentions("event") {
			a.reveal(step, st, st.Event)
		}
	}
	if !step.Acts() && step.Stage.Stop == nil {
		a.stand()
	}
}

// bindLate gives the names of the beat's beginning their values, if that was not possible before:
// all of them at once, for one may stand for what another is not.
func (a *Attempt) bindLate(st *view.State) {
	if a.unknown = a.bind(a.unbound, st); a.unknown == nil {
		a.unbound = nil
	}
}

// bind gives names their values, and says why the first that has none has none. An empty text
// is no value: nobody leads, nothing is named.
func (a *Attempt) bind(names []Binding, st *view.State) (unknown error) {
	for _, n := range names {
		v, err := n.is.program.Value(st, st.Event, a.values)
		if err == nil {
			a.values[n.Name] = v
			if v.Text() == "" {
				err = errors.New("it stands for nothing")
			}
		}
		if err != nil && unknown == nil {
			unknown = fmt.Errorf("beat %q: %s: %w", a.Lesson.Steps[a.at].ID, n.Name, err)
		}
	}
	return unknown
}

// bound reports whether all names of the beat's beginning have their values.
func (a *Attempt) bound() bool { return len(a.unbound) == 0 }

// stand ends the beat's way along the trace, where the stage is.
func (a *Attempt) stand() {
	step, span := a.Lesson.Steps[a.at], &a.spans[a.at]
	st := a.stage.b.Live()
	unknown := a.bind(step.Stage.Then, st)
	if !a.bound() {
		unknown = a.unknown
	}
	if a.failed == nil {
		a.failed = unknown
	}
	span.Stopped, span.At = true, a.stage.next
	span.end, span.values = a.stage.b.Mark(), maps.Clone(a.values)
}

// Look judges what has happened, as far as the beat goes; more says that there is more.
func (a *Attempt) Look() (more bool) {
	defer a.listen()
	step := a.Lesson.Steps[a.at]
	if step.Acts() {
		more = a.follow(batch) == batch
		a.bindLate(a.b.Live())
		span := &a.spans[a.at]
		if step.Stage.Stop != nil {
			return more
		}
		a.stage = fold{view.From(a.b.Mark()), a.judged}
		if span.At = a.judged; !span.Stopped && len(step.Goals) > 0 && a.Passed(step) {
			a.stand()
		}
		return more
	}
	return a.advance(batch)
}

// follow brings the session on by up to n events, and the stage with it as far as it is to go.
func (a *Attempt) follow(n int) (read int) {
	step, span := a.Lesson.Steps[a.at], a.span()
	events, next, lost := a.stream.Read(a.judged, n)
	if lost > 0 && a.failed == nil {
		a.failed = fmt.Errorf("%d events were let go before they were judged; restart the lesson if a goal does not tick", lost)
	}
	a.judged = next - uint64(len(events))
	for _, e := range events {
		before := a.reached(step)
		a.Apply(e)
		if a.judged++; !before && a.reached(step) {
			a.passedAt = a.judged
		}
		if theirs(e) {
			a.did = e.ID
		}
		if span == nil || !step.Acts() || step.Stage.Stop == nil || span.Stopped || a.stage.next >= a.judged {
			continue
		}
		a.stage.apply(e)
		if st := a.stage.b.Live(); a.holds(step.Stage.Stop, st, e) {
			a.stand()
		}
	}
	a.settles(events)
	return len(events)
}

// listen notes which of the commands run that a beat has offered, up to the newest event: one may be answered when the
// stage stands long before.
func (a *Attempt) listen() {
	for n := batch; n == batch; {
		events, next, _ := a.stream.Read(a.heard, batch)
		n, a.heard = len(events), next
		for _, e := range events {
			c, ok := e.Payload.(*trace.Command)
			switch {
			case !ok || c.Source != "console":
			case e.Kind == trace.CommandStart && a.offers(c.Line):
				a.waiting[e.ID] = true
			case e.Kind == trace.CommandEnd && len(e.Causes) > 0:
				delete(a.waiting, e.Causes[0])
			}
		}
	}
}

// offers reports whether the beat under way offers a command, by itself or in a line with others.
func (a *Attempt) offers(line string) bool {
	return slices.ContainsFunc(a.Lesson.Steps[a.at].Offers, func(o Offer) bool {
		now, _ := a.Now(o.Run)
		return now == line || within(now, line)
	})
}

// within reports whether a command stands in a line of several: by its first words, for what follows may be a variable there.
func within(line, command string) bool {
	words := strings.Fields(command)
	return strings.Contains(line, ";") && len(words) > 2 && strings.Contains(line, strings.Join(words[:3], " "))
}

// span is that of the beat under way; nil before the first.
func (a *Attempt) span() *Span {
	if a.at >= len(a.spans) {
		return nil
	}
	return &a.spans[a.at]
}

// advance brings the stage on to the beat's stop, by up to n events.
func (a *Attempt) advance(n int) (more bool) {
	step, span := a.Lesson.Steps[a.at], a.span()
	if span.Stopped {
		return false
	}
	events, next, lost := a.stream.Read(a.stage.next, n)
	if lost > 0 {
		a.stage.next = next - uint64(len(events))
	}
	for _, e := range events {
		a.stage.apply(e)
		if a.stage.next > a.judged {
			a.Apply(e)
			a.judged = a.stage.next
		} else { // it was judged before this beat asked anything
			a.answersAt(a.stage.b.Live(), e)
		}
		st := a.stage.b.Live()
		a.bindLate(st)
		switch {
		case !span.begun:
			if a.holds(step.Stage.From, st, e) {
				a.begin()
			}
		case a.holds(step.Stage.Stop, st, e):
			a.stand()
		}
		span.At = a.stage.next
		if span.Stopped {
			return false
		}
	}
	return len(events) == n
}

func (f *fold) apply(e *trace.Event) {
	f.b.Apply(e)
	f.next++
}

// Done reports whether a beat is over, so that the learner may go on.
func (a *Attempt) Done(beat int) bool {
	step := a.Lesson.Steps[beat]
	switch {
	case beat >= len(a.spans):
		return false
	case a.shown[step.ID]:
		return true
	case step.Kind == Free:
		return true
	case step.Acts():
		return a.Passed(step)
	case step.Question != nil && !a.Passed(step):
		return false
	}
	return a.spans[beat].Stopped
}

// Runs reports whether the cluster is to run for the beat under way: where something is done until its goals are met,
// elsewhere until it stands; and until what was offered has been answered, for a command that waits for the cluster would
// never end, under a text that says how it ended.
func (a *Attempt) Runs() bool {
	if g, _, _ := a.Mistake(); g != nil && a.Lesson.Steps[a.at].Acts() && a.Lesson.Steps[a.at].Kind != Free {
		return false
	}
	return a.goesOn() || len(a.waiting) > 0
}

// goesOn reports whether the beat under way is not over, or is free play.
func (a *Attempt) goesOn() bool {
	step := a.Lesson.Steps[a.at]
	switch {
	case step.Kind == Free:
		return true
	case step.Acts():
		return !a.Passed(step)
	}
	return !a.spans[a.at].Stopped
}

// Passed reports whether a beat's goals were all met together once and its question is answered.
func (a *Attempt) Passed(step *Step) bool {
	if q := step.Question; q != nil && (q.Form() == Order || q.Form() == Match) {
		want, _ := q.parts()
		return len(a.given[step.ID]) == want && a.reached(step)
	}
	if step.Acts() && len(step.Goals) == 0 {
		return true
	}
	return a.Session.Passed(step)
}

// Known reports whether the stage has come to an event: what it has not shown yet is not told.
func (a *Attempt) Known(id trace.ID) bool {
	_, pos, ok := a.stream.At(id)
	return !ok || pos < a.stage.next
}

// ahead reports whether a goal that is met was met by what the stage has not come to yet: it halts in the beat that
// wants it, and goes on in those after it.
func (a *Attempt) ahead(step *Step, g *Goal) bool {
	if step.Stage.Stop == nil {
		return false
	}
	if g.Edge() {
		at := a.MetAt(g)
		return !at.IsZero() && !a.Known(at)
	}
	return a.passedAt > a.stage.next && step == a.Lesson.Steps[a.at]
}

// Claim reports whether what a beat claims holds where it stands.
func (a *Attempt) Claim(beat int) bool {
	step, span := a.Lesson.Steps[beat], &a.spans[beat]
	if step.Stage.Claim == nil {
		return true
	}
	ok, err := step.Stage.Claim.holds(span.end, span.end.Event, span.values)
	return ok && err == nil
}

// Caption is what a beat says before its change, and after it; the second is "" where the beat
// has one paragraph. whole says that every value in it is known.
func (a *Attempt) Caption(beat int) (before, after string, whole bool) {
	step, span := a.Lesson.Steps[beat], &a.spans[beat]
	st, values := span.start, a.values
	if span.end != nil {
		values = span.values
	}
	before, whole = fillIn(step.Caption, 0, st, values)
	if span.end == nil {
		return before, "", whole
	}
	after, ok := fillIn(step.Caption, 1, span.end, values)
	if len(step.Caption) == 1 { // it may speak of what the stop has brought
		before, whole = fillIn(step.Caption, 0, span.end, values)
	}
	return before, after, whole && ok
}

func fillIn(caption []*Text, n int, st *view.State, values expr.Values) (string, bool) {
	if n >= len(caption) {
		return "", true
	}
	return caption[n].Fill(st, st.Event, values)
}

// At fills a text of a beat as of where the beat stands, which is now until it has stopped.
func (a *Attempt) At(beat int, t *Text) (string, bool) {
	span := &a.spans[beat]
	if span.end != nil {
		return t.Fill(span.end, span.end.Event, span.values)
	}
	st := a.stage.b.Live()
	return t.Fill(st, st.Event, a.values)
}

// Now fills a text with what is so now, as commands want it.
func (a *Attempt) Now(t *Text) (string, bool) {
	st := a.b.Live()
	return t.Fill(st, st.Event, a.values)
}
