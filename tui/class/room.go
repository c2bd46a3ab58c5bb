package class

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"kviz/lessons"
)

// Room is who takes part in a class, and what they have said and done. It is a fold of its journal: the same entries make
// the same room. All methods may be called from any goroutine and return at once.
type Room struct {
	Changed Bell

	mu      sync.Mutex
	now     func() time.Time
	journal io.Writer // nil: nothing is kept
	failed  error     // why nothing is kept any more

	lesson string
	opened time.Time // for the first time
	beat   string    // where the class is
	since  time.Time
	seats  map[string]*Seat // by name
	order  []string         // names as they came
	polls  map[string]string
	asked  []string // beats with polls, in their order
	gates  map[string]string
	pace   map[string]int // the newest, by student
	asks   []Question
	called uint64
	pinned bool
	last   uint64 // rises with each entry
	state  *State // as it was made last; nil: never
	made   time.Time
}

// Question is what a student asked.
type Question struct {
	Name, Text string
	At         time.Time
}

// NewRoom makes an empty room whose journal goes to w, which may be nil.
func NewRoom(now func() time.Time, w io.Writer) *Room {
	return &Room{
		now: now, journal: w, seats: map[string]*Seat{}, polls: map[string]string{}, gates: map[string]string{},
		pace: map[string]int{},
	}
}

// Restore folds the journal of a class that ended; terminals are gone then, and everything else is as it was.
func (r *Room) Restore(entries []Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range entries {
		r.apply(e)
	}
	for _, s := range r.seats {
		s.Here, s.Alone = 0, false
	}
	r.Changed.Ring()
}

// Err is why the journal could not be written; the class goes on without it.
func (r *Room) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// put adds an entry. The lock is held.
func (r *Room) put(e Entry) {
	e.At = r.now()
	r.apply(e)
	if r.journal != nil && r.failed == nil {
		line, err := json.Marshal(e)
		if err == nil {
			_, err = r.journal.Write(append(line, '\n'))
		}
		if err != nil {
			r.failed = fmt.Errorf("the class's journal: %w", err)
		}
	}
	r.Changed.Ring()
}

// apply folds one entry. What it says of a student who is not known is left out.
func (r *Room) apply(e Entry) {
	r.last++
	s := r.seats[e.Name]
	switch e.T {
	case Opened:
		r.lesson, r.since = e.Lesson, e.At
		if r.opened.IsZero() {
			r.opened = e.At
		}
	case Joined:
		if s == nil {
			s = &Seat{Name: e.Name, Joined: e.At, Answers: map[string]lessons.Answer{}, Right: map[string]bool{}, Said: map[string]string{}, Passed: map[string]bool{}, Work: map[string]Work{}}
			r.seats[e.Name], r.order = s, append(r.order, e.Name)
		}
		s.goes(cmp.Or(s.Beat, r.beat), e.At)
		s.Here++
	case At:
		if r.beat != e.Beat {
			r.beat, r.since = e.Beat, e.At
		}
		for _, s := range r.seats {
			if !s.Alone {
				s.goes(e.Beat, e.At)
			}
		}
	case Polled:
		if r.polls[e.Beat] == "" {
			r.asked = append(r.asked, e.Beat)
		}
		r.polls[e.Beat] = e.State
	case Gated:
		r.gates[e.Beat] = e.State
	case Pace:
		r.pace[e.Name] = e.By
	case Called:
		r.called = r.last
	case Pinned:
		r.pinned = e.State == pinOn
	default:
		if s != nil {
			r.applyTo(s, e)
		}
	}
}

// applyTo folds an entry about a student.
func (r *Room) applyTo(s *Seat, e Entry) {
	switch e.T {
	case Left:
		s.counts(e.At)
		s.Here = max(s.Here-1, 0)
	case Answered:
		if e.Answer == nil {
			delete(s.Answers, e.Beat)
			delete(s.Said, e.Beat)
			return
		}
		s.Answers[e.Beat] = *e.Answer
		s.Said[e.Beat] = e.Words
	case Judged:
		if e.Right != nil {
			s.Right[e.Beat] = *e.Right
		}
	case Own:
		if e.Done > s.Done || !s.Alone || s.Beat != e.Beat {
			s.Since = e.At
		}
		s.goes(e.Beat, e.At)
		s.Alone, s.Done, s.Of, s.Miss, s.Broken = true, e.Done, e.Of, e.Words, e.Mistake
		s.works(e.Beat, func(w *Work) { w.Done, w.Of = e.Done, e.Of })
		if e.Of > 0 && e.Done == e.Of {
			s.Passed[e.Beat] = true
		}
	case Returned:
		s.goes(r.beat, e.At)
		s.Alone, s.Done, s.Of, s.Miss, s.Broken = false, 0, 0, "", false
	case Helped:
		s.works(e.Beat, func(w *Work) { w.Hints, w.Shown, w.Undone = e.Hints, e.Shown, e.Undone })
	case Hand:
		s.Hand = e.State == "up"
	case Asked:
		s.Asks = e.Words
		r.asks = append(r.asks, Question{s.Name, e.Words, e.At})
		if n := len(r.asks); n > mostQuestions {
			r.asks = slices.Delete(r.asks, 0, n-mostQuestions)
		}
	case Hinted:
		s.Hint = e.Words
	}
}

// mostQuestions is how many questions are kept for the teacher's screen; the journal has all.
const mostQuestions = 50

// Errors of what students do.
var (
	ErrNobody = errors.New("there is no such student")
	ErrFrozen = errors.New("the poll is closed: answers stay as they are")
	ErrNoPoll = errors.New("no poll is open")
)

// Begin opens the class with a lesson, "L09@3", or without one, "".
func (r *Room) Begin(lesson string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put(Entry{T: Opened, Lesson: lesson})
}

// Come is a student's terminal that comes in, and Leave one that goes. A student may have several.
func (r *Room) Come(name string)  { r.of(name, Entry{T: Joined, Name: name}) }
func (r *Room) Leave(name string) { r.of(name, Entry{T: Left, Name: name}) }

func (r *Room) of(name string, e Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Name = name
	r.put(e)
}

// GoTo is the beat to which the class has come.
func (r *Room) GoTo(beat string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.beat != beat {
		r.put(Entry{T: At, Beat: beat})
	}
}

// Poll sets the state of a beat's poll. A poll that was shown stays so; one that was closed is not opened again.
func (r *Room) Poll(beat, state string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rank := []string{"", Open, Closed, Shown}
	if slices.Index(rank, state) > slices.Index(rank, r.polls[beat]) {
		r.put(Entry{T: Polled, Beat: beat, State: state})
	}
}

// Gate opens or closes a beat's gate.
func (r *Room) Gate(beat, state string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gates[beat] != state {
		r.put(Entry{T: Gated, Beat: beat, State: state})
	}
}

// Answer takes a student's answer to a beat's question, nil to take it back, as long as its poll is open.
func (r *Room) Answer(name, beat string, a *lessons.Answer, words string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.seats[name] == nil:
		return ErrNobody
	case r.polls[beat] == "":
		return ErrNoPoll
	case r.polls[beat] != Open:
		return ErrFrozen
	}
	r.put(Entry{T: Answered, Name: name, Beat: beat, Answer: a, Words: words})
	return nil
}

// Judge notes whether the answers to a beat's question are right, once that is known.
func (r *Room) Judge(beat string, right func(lessons.Answer) (right, known bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range r.order {
		s := r.seats[name]
		a, given := s.Answers[beat]
		if _, judged := s.Right[beat]; judged || !given {
			continue
		}
		if is, known := right(a); known {
			r.put(Entry{T: Judged, Name: name, Beat: beat, Right: &is})
		}
	}
}

// Progress is how far a student has come in a run of their own. What is the same as before is not noted again.
func (r *Room) Progress(name, beat string, done, of int, miss string, broken bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.seats[name]
	if s == nil || s.Alone && s.Beat == beat && s.Done == done && s.Of == of && s.Miss == miss && s.Broken == broken {
		return
	}
	r.put(Entry{T: Own, Name: name, Beat: beat, Done: done, Of: of, Words: miss, Mistake: broken})
}

// Help is which help a student has taken in a beat of a run of their own, in all: hints, goals that kviz met, and undos.
func (r *Room) Help(name, beat string, hints, shown, undone int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.seats[name]
	if s == nil {
		return
	}
	if w := s.Work[beat]; w.Hints != hints || w.Shown != shown || w.Undone != undone {
		r.put(Entry{T: Helped, Name: name, Beat: beat, Hints: hints, Shown: shown, Undone: undone})
	}
}

// Back is a student who follows again.
func (r *Room) Back(name string) { r.of(name, Entry{T: Returned}) }

// Raise puts a student's hand up or down.
func (r *Room) Raise(name string, up bool) {
	state := "down"
	if up {
		state = "up"
	}
	r.of(name, Entry{T: Hand, State: state})
}

// Ask is a student's question, Hint what the teacher sends to one.
func (r *Room) Ask(name, text string)  { r.of(name, Entry{T: Asked, Words: text}) }
func (r *Room) Hint(name, text string) { r.of(name, Entry{T: Hinted, Words: text}) }

// Call calls everybody back to what the teacher shows.
func (r *Room) Call() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put(Entry{T: Called})
}

// Pin calls everybody back and holds them at what the teacher shows, or lets them go again.
func (r *Room) Pin(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case on == r.pinned:
	case on:
		r.put(Entry{T: Pinned, State: pinOn})
		r.put(Entry{T: Called})
	default:
		r.put(Entry{T: Pinned, State: pinOff})
	}
}

const pinOn, pinOff = "on", "off"

// Paces is that a student finds the class too fast (1), too slow (-1) or right (0).
func (r *Room) Paces(name string, by int) { r.of(name, Entry{T: Pace, By: by}) }

// State is a room at one moment. It shares nothing with the room.
type State struct {
	No        uint64 // rises with every change
	Lesson    string
	Opened    time.Time // when the class began, also where its process was started again
	Beat      string
	Since     time.Time // when the class came to the beat
	Seats     []Seat    // in the order in which students came
	Here      int
	Hands     []string
	Slower    int // how many find it too fast; nobody sees who
	Faster    int
	Questions []Question      // the newest last
	Polls     map[string]Poll // by beat
	Asked     []string        // beats with polls, in order
	Gates     map[string]Gate
	Called    uint64 // rises when the teacher calls everybody back
	Pinned    bool   // the teacher holds everybody at what they show
}

// State is the room now. Nobody may change it: all who ask between two entries get the same one. How long students have been
// in their beats is up to a second old.
func (r *Room) State() *State {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if r.state == nil || r.state.No != r.last || now.Sub(r.made) >= time.Second {
		r.state, r.made = r.fold(now), now
	}
	return r.state
}

// fold makes the state. The lock is held.
func (r *Room) fold(now time.Time) *State {
	s := &State{
		No: r.last, Lesson: r.lesson, Opened: r.opened, Beat: r.beat, Since: r.since, Questions: slices.Clone(r.asks),
		Called: r.called, Pinned: r.pinned, Polls: map[string]Poll{}, Gates: map[string]Gate{}, Asked: slices.Clone(r.asked),
	}
	for _, name := range r.order {
		seat := r.seats[name].copy()
		seat.counts(now)
		s.Seats = append(s.Seats, seat)
		if seat.Here == 0 {
			continue
		}
		s.Here++
		if seat.Hand {
			s.Hands = append(s.Hands, name)
		}
		switch by := r.pace[name]; {
		case by > 0:
			s.Slower++
		case by < 0:
			s.Faster++
		}
	}
	for beat, state := range r.polls {
		p := Poll{Beat: beat, State: state}
		p.Answers, p.Given = r.tally(beat)
		s.Polls[beat] = p
	}
	for beat, state := range r.gates {
		g := Gate{Beat: beat, State: state, Of: s.Here}
		for _, seat := range s.Seats {
			if seat.Passed[beat] {
				g.Done++
			}
		}
		s.Gates[beat] = g
	}
	return s
}

// Seat is a student; false where there is none of that name.
func (s *State) Seat(name string) (Seat, bool) {
	i := slices.IndexFunc(s.Seats, func(seat Seat) bool { return seat.Name == name })
	if i < 0 {
		return Seat{}, false
	}
	return s.Seats[i], true
}

func (s *Seat) copy() Seat {
	c := *s
	c.Answers, c.Right, c.Passed = maps.Clone(s.Answers), maps.Clone(s.Right), maps.Clone(s.Passed)
	c.Said, c.Work = maps.Clone(s.Said), maps.Clone(s.Work)
	return c
}
