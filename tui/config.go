// Package tui is the explorer: the screen on which a person watches a cluster,
// pauses it, steps, goes back in time, asks why, breaks things and learns.
//
// It is one tea.Model ([Explorer]), which routes and does nothing else: the parts are
// packages below (frame, travel, drive, lesson, console, faults, menu), and what they
// want of one another are actions (package action). What it draws comes from immutable
// states that package view folded out of the trace, never from a live object of the
// cluster; what it does goes through [Cluster]. So the same explorer shows a live
// cluster, a recording, or a cluster somewhere else.
//
// Start reading at [Run], then explorer.go (the parts), update.go (the way of a
// message), perform.go (the way of an action), draw.go (the way of a frame), and package
// pane for what the panes have in common. DESIGN.md describes it on one page.
package tui

import (
	"context"
	"io"

	tea "charm.land/bubbletea/v2"

	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/class/walk"
	"kviz/tui/console"
	"kviz/tui/drive"
	"kviz/tui/faults"
	"kviz/tui/lesson"
	"kviz/tui/menu"
	"kviz/tui/pane"
)

// Cluster is a running cluster as the explorer's parts need it.
type Cluster interface {
	drive.Cluster
	faults.Cluster
	console.Shell
	console.Catalogue
}

// Config says what the explorer shows and how.
type Config struct {
	// History is the history of the trace to show. Run keeps it up to date,
	// unless Following says that somebody else does.
	History   *view.History
	Following bool

	// Cluster drives the cluster. It may be nil while Booting is set.
	Cluster Cluster
	// Booting, if set, is called in the background after the first frame; it
	// tells its progress in short sentences and gives the cluster once there is one.
	Booting func(ctx context.Context, progress func(string)) (Cluster, error)

	// Recording is the name of the recording that is shown; "" for a cluster.
	// A recording is played by the explorer itself.
	Recording string
	// File is the name of the recording that the run is in, for links to its events; "" where it
	// is in none.
	File string
	// Moment is the event at which the explorer begins; zero is the newest.
	Moment trace.ID
	// Says is what the explorer says first.
	Says string
	// Damage says why the recording ends where it does, if that is not its end.
	Damage error

	Lessons   lesson.Player // nil: there are no lessons here
	Scenarios []Scenario
	// Recordings lists the recordings that can be opened instead; nil where
	// none can. Run then ends with an [OpenRecording].
	Recordings func() []string
	// StartScreen opens the start screen over the panes.
	StartScreen bool
	// Handout writes a lesson for taking home into a new file, which it gives; it may take half a minute. nil: it cannot be
	// written here.
	Handout func(ctx context.Context, lesson string) (file string, err error)
	// Lesson begins a lesson at once.
	Lesson string

	Theme  string              // dark, light, 16, none; "" finds out
	Preset string              // name of the first layout
	Keys   map[string][]string // other keys for actions, by the action's name
	Motion string              // full, calm, none: how much may move; "" is full, or none where NO_MOTION is set
	Remote bool                // over SSH: fewer frames, no suspending

	// Saved says that what was done in the cluster is there again next time, so that
	// leaving needs no question.
	Saved bool

	// End ends the cluster that the explorer began with, whose history stays to be looked at: a
	// lesson has gone on in a branch. nil: it ends with the explorer.
	End func() error

	// Save writes the run that the explorer began with, as far as memory holds it, as a
	// recording into a new file; nil: it cannot be saved.
	Save func(path string) error

	// Marks are those of a walk through the run that the explorer began with; nil: none can be set.
	Marks *walk.Marks

	// Lend runs a program on the terminal that the explorer is on, such as the editor
	// of kubectl edit; the explorer gives the terminal back meanwhile. Nil: whoever
	// watches has no programs on this machine.
	Lend control.Lend

	// Forks runs the run again, to go on differently; nil: nothing can be run again here.
	Forks Forker

	// Beside, if set, runs beside the explorer until ctx ends. It calls changed after it has
	// changed what the lessons show.
	Beside func(ctx context.Context, changed func()) error

	// Taken says that a lesson is under way in Lessons, with which the explorer goes on.
	Taken bool
	// Leaves says where leaving leads, "back to the class"; "" is out of kviz.
	Leaves string
	// Typed, if set, is what stands in the console's line at the beginning, and is set to what stands there at the end.
	Typed *string
	// Messages come from outside while the explorer runs: [tea.WindowSizeMsg] where Output is no terminal of this
	// process, [Told], [Called].
	Messages <-chan tea.Msg
	// Wrap, if set, gives the program that is shown in the place of the explorer, which it shows.
	Wrap func(*Explorer) tea.Model
	// Options are more options of the program, after the explorer's own.
	Options []tea.ProgramOption

	// Plain tells in lines of text what happens, instead of showing a screen, and takes
	// commands for the console from Input.
	Plain bool
	// PlainAll writes every event, each with its number, way and causes.
	PlainAll bool
	// PlainOutside includes the events of the raft lane in plain output.
	PlainOutside bool

	Input   io.Reader // nil: the terminal
	Output  io.Writer // nil: standard output
	Environ []string  // nil: the process's environment
	Size    [2]int    // columns and rows where the output is no terminal

	panes []pane.Maker    // for tests; nil for all
	done  func(*Explorer) // for tests: called with the model before it runs
}

// Scenario is a script that the start screen and the palette offer.
type Scenario = menu.Scenario
