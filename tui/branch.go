package tui

import (
	"context"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/console"
	"kviz/tui/drive"
	"kviz/tui/lesson"
	"kviz/tui/menu"
	"kviz/tui/odds"
	"kviz/tui/stage"
	"kviz/tui/trail"
	"kviz/tui/travel"
)

// branch is a run and everything of the explorer that belongs to it: where in it we stand,
// its console, its lesson. Of several one is on the screen; the others stand still.
type branch struct {
	name      string
	left      *control.Fork // where it left another; nil for the run that the explorer began with
	recording string        // the name of the recording that it is; "" for a cluster
	past      *view.History
	cluster   Cluster                 // nil while it starts, and for a recording
	end       func() error            // ends its cluster; nil where somebody else does
	save      func(path string) error // writes it as a recording; nil: it cannot be saved
	rest      func()                  // has its history not kept up to date any more; nil: somebody else does
	resumes   bool                    // it ran when another was put on the screen
	undone    bool                    // its lesson has gone on in a branch

	travel *travel.Travel
	drive  *drive.Driver
	lesson *lesson.Lesson
	stage  *stage.Stage // of a lesson in beats
	drawer *console.Drawer
	moving moving
	curve  *odds.Curve // how probable something became in it; nil where nobody asked
	mine   followed
	trail  trail.Trail
	walk   *trail.Walk // how far the newest command has come where we are
	waker
}

// first is the run that the explorer begins with.
func first(cfg Config, boot string) *branch {
	b := newBranch("first run", cfg.History, cfg.Cluster, boot, cfg)
	b.lesson, b.save = lesson.New(cfg.Lessons), cfg.Save
	if cfg.Recording != "" {
		b.name, b.recording = cfg.Recording, cfg.Recording
		b.travel = travel.New(cfg.History, true)
		b.moving.live = false
	}
	return b
}

func newBranch(name string, h *view.History, c Cluster, boot string, cfg Config) *branch {
	b := &branch{
		name: name, past: h, cluster: c,
		travel: travel.New(h, false),
		drive:  drive.New(c, boot),
		lesson: lesson.New(nil),
		stage:  stage.New(cfg.panes),
		drawer: console.NewDrawer(),
	}
	b.moving = newMoving(cfg.Motion, cfg.Remote, b.travel.Where().Len)
	return b
}

// history is the history of the run.
func (b *branch) history() *view.History { return b.past }

// watch asks for a message when the run's trace grows.
func (b *branch) watch(ctx context.Context) tea.Cmd { return b.waker.watch(ctx, b.past) }

// at is the control plane's event that the screen shows of it: the newest, or one of the past;
// before the first, where only members have done something, the first.
func (b *branch) at() trace.ID { return trace.ID{Seq: max(b.travel.State().Last.Seq, 1)} }

// events are all events of the run up to one.
func (b *branch) events() []*trace.Event {
	var all []*trace.Event
	stream := b.past.Stream()
	for pos, n := stream.Oldest(), stream.Len(); pos < n; {
		events, next, _ := stream.Read(pos, int(min(n-pos, 1<<14)))
		if len(events) == 0 {
			break
		}
		all, pos = append(all, events...), next
	}
	return all
}

// halt makes its cluster stand while it is not looked at, and goOn ends that. That a cluster
// has ended is said where it is on the screen.
func (b *branch) halt() {
	if b.cluster != nil && !b.resumes && !b.cluster.Clock().Paused {
		b.resumes = true
		_ = b.cluster.Pause()
	}
}

func (b *branch) goOn() {
	if b.resumes {
		b.resumes = false
		_ = b.cluster.Resume()
	}
}

// turnTo puts a branch on the screen. The one that was there stands still until it is back:
// nobody would see what happens in it.
func (m *Explorer) turnTo(b *branch) tea.Cmd {
	if b == m.branch {
		return nil
	}
	m.halt()
	if from := m.branch; m.comparing.other == b { // they change places
		m.branch, m.comparing = b, comparing{other: from}
	} else {
		m.branch = b
	}
	b.goOn()
	m.frame.Anew()
	m.frame.Unpoint()
	m.pull(0)
	return m.watch(m.ctx)
}

// forget ends what goes on for a run that is not kept.
func (b *branch) forget() {
	b.waker.close()
	if b.rest != nil {
		b.rest()
	}
}

// named is the branch of a name; nil if there is none.
func (m *Explorer) named(name string) *branch {
	if i := slices.IndexFunc(m.branches, func(b *branch) bool { return b.name == name }); i >= 0 {
		return m.branches[i]
	}
	return nil
}

// newName is a name for the next branch, and a free one.
func (m *Explorer) newName() string {
	for n := len(m.branches) + 1; ; n++ {
		if name := fmt.Sprintf("run %d", n); m.named(name) == nil {
			return name
		}
	}
}

// listBranches opens the list of the branches.
func (m *Explorer) listBranches() action.Action {
	var rows []menu.Branch
	for _, b := range m.branches {
		rows = append(rows, b.row(b == m.branch))
	}
	m.open.Push(menu.Branches(rows, m.at(), m.cannotFork()))
	return nil
}

func (b *branch) row(here bool) menu.Branch {
	s := b.past.Latest()
	r := menu.Branch{Name: b.name, Left: b.left, Here: here, Recording: b.recording != "", Until: s.At, Events: s.Last.Seq}
	if b.cluster != nil {
		r.Ended = b.cluster.Clock().Ended
	}
	r.NotSaved = b.cannotSave()
	return r
}

// cannotSave is why a run cannot be saved; "" if it can.
func (b *branch) cannotSave() string {
	switch {
	case b.recording != "":
		return "it is a recording already"
	case b.save == nil:
		return "it cannot be saved here"
	}
	return ""
}

// nameAs gives a run another name.
func (m *Explorer) nameAs(old, name string) action.Action {
	b := m.named(old)
	if b == nil || name == "" || name == old {
		return nil
	}
	if m.named(name) != nil {
		again := menu.AskName(old)
		again.Text, again.Error = name, fmt.Sprintf("there is a run %q already", name)
		return again
	}
	for _, other := range m.branches {
		if other.left != nil && other.left.Parent == old {
			other.left.Parent = name
		}
	}
	b.name = name
	return nil
}

// closeRun ends a branch.
func (m *Explorer) closeRun(name string) tea.Cmd {
	b := m.named(name)
	if b == nil || b.left == nil || b.end == nil {
		m.say("there is no branch " + name)
		return nil
	}
	var cmd tea.Cmd
	if b == m.branch {
		cmd = m.turnTo(m.branches[0])
	}
	if m.comparing.other == b {
		m.leaveOther()
	}
	m.branches = slices.DeleteFunc(m.branches, func(other *branch) bool { return other == b })
	b.forget()
	m.safe.Go(func() { _ = b.end() }) // what came in its way is told when the explorer has ended
	m.frame.Anew()
	m.say(name + " is closed")
	return cmd
}
