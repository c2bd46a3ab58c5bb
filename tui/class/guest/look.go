package guest

import (
	"errors"

	tea "charm.land/bubbletea/v2"

	"kviz/tui/class"
	"kviz/tui/grid"
)

// State is how far the student has agreed.
type State int

// The states. A hand begins with Not, a look with Asked.
const (
	Not   State = iota
	Asked       // the student is asked
	Given       // the student has agreed
	Over        // the look has ended, for a reason that Moment says
)

// Moment is a look as it is now. Nothing in it changes.
type Moment struct {
	State State
	Hand  State  // whether the teacher types on the student's keys: Not, Asked, Given
	Frame *Frame // what the student sees; nil unless they have agreed
	Says  string // news for the teacher, "" for none
}

// Frame is what is on a student's screen. Nothing in it changes.
type Frame struct {
	Grid   *grid.Grid
	X, Y   int // of the cursor
	Cursor bool
}

// Look is the teacher's side of a look at one screen of a student's.
type Look struct {
	Changed class.Bell // rings when there is another moment

	host *Host
	stop func() bool // no longer ends with its context

	now   Moment // the host's lock, as what follows
	typed []tea.Msg
}

// Name is the student's.
func (l *Look) Name() string { return l.host.name }

// Now is the look as it is now.
func (l *Look) Now() Moment {
	l.host.mu.Lock()
	defer l.host.mu.Unlock()
	return l.now
}

// there reports whether the look goes on with the student's consent. The lock is held.
func (l *Look) there() bool { return l.host.look == l && l.now.State == Given }

// AskHand asks the student whether the teacher may type on their keys.
func (l *Look) AskHand() {
	l.host.mu.Lock()
	defer l.host.mu.Unlock()
	if l.there() && l.now.Hand == Not {
		l.now.Hand, l.now.Says = Asked, ""
		l.news()
	}
}

// LetGo gives the student's keys back, or takes the question for them back; the look goes on.
func (l *Look) LetGo() {
	l.host.mu.Lock()
	defer l.host.mu.Unlock()
	if l.there() {
		l.now.Hand, l.now.Says, l.typed = Not, "", nil
		l.news()
	}
}

// news tells both sides. The lock is held.
func (l *Look) news() {
	l.Changed.Ring()
	l.host.changed.Ring()
}

// What of a guest's keys may wait, and how long a text they may paste.
const (
	mostTyped  = 64
	mostPasted = 4096
)

// Errors of what a guest types.
var (
	ErrNoHand = errors.New("the student's keys are not yours")
	ErrBusy   = errors.New("the student's screen takes no more keys for the moment")
	ErrLong   = errors.New("this is too much to paste into a student's screen")
)

// Type gives a key press or a pasted text to the student's program. It waits for nobody.
func (l *Look) Type(msg tea.Msg) error {
	l.host.mu.Lock()
	defer l.host.mu.Unlock()
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
	case tea.PasteMsg:
		if len(msg.Content) > mostPasted {
			return ErrLong
		}
	default:
		return nil
	}
	switch {
	case !l.there() || l.now.Hand != Given:
		return ErrNoHand
	case len(l.typed) >= mostTyped:
		return ErrBusy
	}
	l.now.Says = ""
	l.typed = append(l.typed, msg)
	l.host.changed.Ring()
	return nil
}

// End ends the look.
func (l *Look) End() {
	l.host.mu.Lock()
	defer l.host.mu.Unlock()
	if l.host.look == l {
		l.host.over("")
		l.host.changed.Ring()
	}
}
