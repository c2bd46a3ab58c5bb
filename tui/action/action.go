// Package action is what can be done on the screen, as data. Panes, overlays, keys and
// the lesson answer with an action and do nothing themselves; the explorer hands it to
// the part that does it (tui/perform.go). So whatever can be done can be done from
// anywhere, and a test reads what a key came to.
//
// Start reading at [Action].
package action

import (
	"time"

	"kviz/cluster/control"
	"kviz/cluster/trace"
)

// Action is one of the types below; nil is nothing to do.
type Action any

// Key is an action of the keymap by its name, such as "clock.pause".
type Key string

// Pane is an action of the focused pane by its name, with what is under its cursor.
type Pane string

// All are several actions, one after another.
type All []Action

// About events and objects.
type (
	Goto      struct{ ID trace.ID }   // go to a moment
	Show      struct{ Ref trace.Ref } // show an object in the object pane
	WhyList   struct{ ID trace.ID }   // the same as Why as a list, not as lanes
	AllCauses struct{ ID trace.ID }   // list every cause of it, not the chain alone
	Whole     struct{ ID trace.ID }   // show the event with its payload

	// Why asks why an event happened, and why what it is about is as it is.
	Why struct {
		ID   trace.ID
		Of   trace.Ref // the object, if it is about one
		Part string    // or the part of the cluster: "member/a"
	}
)

// About the screen.
type (
	Redraw struct{}              // the state of the pane itself has changed
	Put    []string              // show these panes before the others
	Filter struct{ Text string } // make this the filter of the focused pane; "" takes it away
	Layout int                   // an arrangement of panes, by its index
	Theme  string                // a set of colours
	Motion string                // how much may move on the picture
	Hush   bool                  // nothing moves there that never ends: renewals of Leases, heartbeats
	Trail  struct{}              // show on the picture the way of the command before, then none, then the newest
	Notice struct{ Text string } // say something in the explanation line
	Copy   struct{ Text string } // put this into the clipboard
	Link   struct{ To string }   // put this link into the clipboard, and say so
)

// Focus gives a pane the focus.
type Focus struct {
	Pane string // its name
	Do   string // an action that it does first; "" for none
	On   string // the cursor goes to this thing of it, or to the first that belongs to it; "" leaves it
}

// About the cluster.
type (
	Grain    trace.Grain             // how far a step goes from now on
	Follow   struct{}                // steps go along what comes of the newest command
	Until    struct{ Expr string }   // run until an expression holds
	Exec     struct{ Line string }   // run a console command
	Fault    struct{ control.Fault } // break or mend something
	Break    struct{ Expr string }   // set a breakpoint
	Unbreak  struct{ Number int }    // remove one
	FaultsOf struct{ Target string } // list what can be done to a target
)

// About the runs that are kept: the one that the explorer began with, and the branches.
type (
	AskFork  struct{ At trace.ID } // ask for the name of a branch that leaves at an event
	StopFork struct{}              // give up the one that is under way
	Undo     struct{ At trace.ID } // go on with a lesson from an event of its run, in a branch
	TurnTo   struct{ Name string } // put a run on the screen
	AskName  struct{ Name string } // ask for another name of a run
	AskSave  struct{ Name string } // ask where a run is to be saved as a recording
	CloseRun struct{ Name string } // end a branch
	Beside   struct{ Name string } // show a run beside the one on the screen
	Outcome  struct {              // show what came of both
		Until time.Duration // by then; 0: as far as both have come
	}

	AskOdds struct { // ask what the odds from one event to another are wanted of
		From, To trace.ID // no From: since the cluster was ready
	}
	Odds struct { // how probable something became from one event to another
		Expr     string
		From, To trace.ID // no From: since the cluster was ready
	}
	StopOdds struct{} // give the question up
	NoOdds   struct{} // take the curve away

	FirstDifference struct{} // go to the first event that differs
)

// About the marks of a walk.
type (
	AskMark struct{}         // ask for the words of a mark at the event and the pane that one looks at
	ToMark  struct{ No int } // go to a mark, by its place from 0
	Unmark  struct{ No int } // take one away
)

// Entered is what a prompt was answered with.
type Entered struct {
	For    string
	Text   string
	Needed *AskFault
	At     trace.ID // of ForFork, ForOdds and ForRange
	From   trace.ID // of ForOdds
	Of     string   // of ForName
}

// AskFault asks for what a fault still needs.
type AskFault struct {
	Fault control.Fault
	Needs string // "how much longer each write takes, such as 2s"
}

// Prompt asks for a line of text; its answer is an [Entered].
type Prompt struct {
	For    string // one of the constants below
	Title  string
	Intro  string
	Text   string    // what stands in the line already
	Error  string    // what was wrong with the line before
	Needed *AskFault // of ForFault
	At     trace.ID  // of ForFork, ForOdds and ForRange
	From   trace.ID  // of ForOdds
	Of     string    // of ForName
}

// What a prompt is for.
const (
	ForFilter    = "filter"
	ForEvent     = "event"
	ForUntil     = "until"
	ForBreak     = "break"
	ForFault     = "fault"
	ForRecording = "recording"
	ForSave      = "save"
	ForSaveRun   = "save a run" // and stay
	ForFork      = "fork"
	ForCompared  = "compared until"
	ForName      = "name"
	ForOdds      = "odds"
	ForRange     = "range"
	ForMark      = "mark"
	ForLoad      = "load"
)

// Open opens a list or a page over the panes.
type Open string

// The lists that can be opened.
const (
	Lessons    Open = "lessons"
	Scenarios  Open = "scenarios"
	Recordings Open = "recordings"
	Targets    Open = "targets"
	Progress   Open = "progress"
)

// About lessons, recordings, and the end.
type (
	Begin     string                // begin a lesson, as lessons.Player.Start names it
	Beats     string                // open the list of a lesson's beats
	Handout   string                // write a lesson for taking home
	Lesson    string                // the command for a lesson: "next", "hint", "answer 2"
	Offered   string                // run a command that a lesson offers
	Type      string                // give the console the keyboard, with so much of a line
	Recording string                // leave for a recording, by its path
	Scenario  string                // run the console line of a scenario
	Watch     struct{ Name string } // begin a tour, one of those below
	Explore   struct{}
	Quit      struct{} // end the explorer, without a question
	Obey      struct{} // end it, and go where the person was called
	Suspend   struct{}
)

// The tours.
const (
	Apply       = "apply"
	Declarative = "declarative"
	Convergence = "convergence"
	Distributed = "distributed"
)
