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
	Right   map[string]bool // by beat, of answers that were judged
	Passed  map[string]bool // gates, by beat
}

// StuckAfter is how long a student makes no progress at a gate before they count as stuck.
const StuckAfter = 3 * time.Minute

// Stuck reports whether a student has made no progress for long while a gate is open for them.
func (s *Seat) Stuck(now time.Time) bool {
	return s.Here > 0 && s.Alone && s.Done < s.Of && now.Sub(s.Since) >= StuckAfter
}
