package class

import (
	"time"

	"kviz/lessons"
)

// Seat is a student and what they have done. It is a copy: nothing in it changes.
type Seat struct {
	Name    string
	Here    int // terminals; 0 is gone
	Joined  time.Time
	Beat    string // where they are: the class's beat, or that of a run of their own
	Alone   bool   // in a run of their own
	Done    int    // goals met there, of Of
	Of      int
	Miss    string    // what came nearest to the goal that is open
	Broken  bool      // the beat cannot be done there any more
	Since   time.Time // since when they have come no further
	Hand    bool
	Asks    string // the newest question
	Hint    string // what the teacher has sent
	Answers map[string]lessons.Answer
	Right   map[string]bool   // by beat, of answers that were judged
	Said    map[string]string // answers in words, by beat
	Passed  map[string]bool   // gates, by beat
	Work    map[string]Work   // by beat
	came    time.Time         // to the beat
}

// Work is what a student has done in a beat.
type Work struct {
	Done, Of             int // goals met, in a run of their own
	Hints, Shown, Undone int // hints taken, goals that kviz met, undos
	Took                 time.Duration
}

// Hints is how many hints a student has taken.
func (s *Seat) Hints() (n int) {
	for _, w := range s.Work {
		n += w.Hints
	}
	return n
}

// goes has a student be in a beat from now on. Time counts while a terminal of theirs is there.
func (s *Seat) goes(beat string, now time.Time) {
	s.counts(now)
	s.Beat = beat
}

// counts adds the time that has passed to the beat's.
func (s *Seat) counts(now time.Time) {
	if s.Here > 0 && s.Beat != "" && !s.came.IsZero() {
		s.works(s.Beat, func(w *Work) { w.Took += max(now.Sub(s.came), 0) })
	}
	s.came = now
}

// works changes what a student has done in a beat.
func (s *Seat) works(beat string, change func(*Work)) {
	w := s.Work[beat]
	change(&w)
	s.Work[beat] = w
}

// StuckAfter is how long a student makes no progress at a gate before they count as stuck.
const StuckAfter = 3 * time.Minute

// Stuck reports whether a student has made no progress for long while a gate is open for them.
func (s *Seat) Stuck(now time.Time) bool {
	return s.Here > 0 && s.Alone && s.Done < s.Of && now.Sub(s.Since) >= StuckAfter
}
