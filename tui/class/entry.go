package class

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"kviz/lessons"
)

// Entry is one thing that happened in a class, as a line of its journal: a JSON object with t for its kind. Fields that a
// kind does not need are left out.
type Entry struct {
	T       string          `json:"t"`
	At      time.Time       `json:"at"`
	Name    string          `json:"name,omitempty"`    // the student
	Lesson  string          `json:"lesson,omitempty"`  // of opened: "L09@3"; "" is a walk
	Beat    string          `json:"beat,omitempty"`    // what it is about
	State   string          `json:"state,omitempty"`   // of poll: open, closed, shown; of gate: open, closed; of pin: on, off
	Answer  *lessons.Answer `json:"answer,omitempty"`  //
	Words   string          `json:"words,omitempty"`   // an answer or a question in words, a hint, a miss
	Right   *bool           `json:"right,omitempty"`   // of judged
	Done    int             `json:"done,omitempty"`    // goals met, of Of
	Of      int             `json:"of,omitempty"`      //
	By      int             `json:"by,omitempty"`      // of pace: 1 is too fast, -1 too slow
	Mistake bool            `json:"mistake,omitempty"` // of own: the beat cannot be done any more
	Hints   int             `json:"hints,omitempty"`   // of helped: hints taken, goals that kviz met, undos
	Shown   int             `json:"shown,omitempty"`   //
	Undone  int             `json:"undone,omitempty"`  //
}

// The kinds of entries.
const (
	Opened   = "opened"   // the class begins
	Joined   = "joined"   // a student is there
	Left     = "left"     // a student's terminal is gone
	At       = "at"       // the class has come to a beat
	Polled   = "poll"     // a poll is open, closed or shown
	Answered = "answer"   // a student's answer, in the place of one before
	Judged   = "judged"   // an answer turned out right or wrong
	Gated    = "gate"     // a gate is open or closed
	Own      = "own"      // how far a student is in a run of their own
	Helped   = "helped"   // which help a student has taken in a beat, in all
	Returned = "returned" // a student follows again
	Hand     = "hand"     // a student's hand goes up (state "up") or down
	Asked    = "question" // a student asks
	Pace     = "pace"     // a student finds it too fast or too slow; nobody sees who
	Hinted   = "hint"     // the teacher sends a student a hint
	Called   = "called"   // the teacher calls everybody back to what they show
	Pinned   = "pin"      // the teacher holds everybody there (state "on"), or lets them go
)

// ReadJournal reads a class's journal, one entry a line. A last line that is not whole is left out: the process ended while
// it was written.
func ReadJournal(r io.Reader) (all []Entry, err error) {
	in := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("journal: line %d: %w", n, err)
		}
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("journal: line %d: %w", n, err)
		}
		all = append(all, e)
	}
}
