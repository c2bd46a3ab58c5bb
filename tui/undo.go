package tui

import (
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"kviz/cluster/trace"
	"kviz/lessons"
	"kviz/tui/action"
	"kviz/tui/drive"
	"kviz/tui/lesson"
	"kviz/tui/overlay"
	"kviz/tui/stage"
	"kviz/tui/travel"
	"kviz/tui/words"
)

// undoer is a player of lessons that can go on in a branch.
type undoer interface {
	Undone(c lessons.Cluster) error
}

// undoing is how long an undo takes, once it was asked for.
type undoing struct {
	at   trace.ID
	says string
}

const (
	// undoneFor is how long the cluster of a run that was undone stands by, to be gone on with.
	undoneFor = time.Minute
	// undoneKept is how many such runs are kept beside the first, to be looked at.
	undoneKept = 2
)

// cannotUndo is why the lesson's run cannot be run again; "" if it can.
func (m *Explorer) cannotUndo(at trace.ID) string {
	if _, can := m.cfg.Lessons.(undoer); !can || at.IsZero() {
		return "there is nothing to run again"
	}
	return m.cannotFork()
}

// undoSays says what an undo would do, and how long that takes.
func (m *Explorer) undoSays() string {
	b := m.lesson.Look().Beat
	if b == nil || b.Mistake == "" {
		return ""
	}
	if m.undoing.says != "" && m.undoing.at == b.Undo {
		return m.undoing.says
	}
	m.undoing = undoing{b.Undo, "the scene is set again, up to the beginning of this beat"}
	if m.cannotUndo(b.Undo) == "" {
		if o, err := m.cfg.Forks.Outlook(m.events(), b.Undo); err == nil {
			about := o.About
			if m.forking.rate > 0 {
				about = time.Duration(float64(o.Events) / m.forking.rate * float64(time.Second))
			}
			m.undoing.says = fmt.Sprintf("back to #%s, before your command (about %s)", b.Undo, words.Dur(about.Round(100*time.Millisecond)))
		}
	}
	return m.undoing.says
}

// undo takes back what the learner did: their run is run again up to before it, in a branch with
// which the lesson goes on. The run that it leaves stays, to be looked at. Where that cannot be, the
// scene is set again.
func (m *Explorer) undo(at trace.ID) action.Action {
	if why := m.cannotUndo(at); why != "" {
		return action.Lesson("again")
	}
	if _, err := m.cfg.Forks.Outlook(m.events(), at); err != nil {
		return action.All{action.Lesson("again"), action.Notice{Text: err.Error() + "; the scene is set again"}}
	}
	m.forkTo(at, m.newName(), true, &overlay.Progress{
		Title: "Undo: back to #" + at.String(), Text: "Your run is run again, up to before your command, and compared with what it was.", Stop: action.StopFork{},
	})
	return nil
}

// handOver has the lesson of a run go on in a branch of it.
func (m *Explorer) handOver(from, to *branch) error {
	player, can := m.cfg.Lessons.(undoer)
	c, runs := to.cluster.(lessons.Cluster)
	if !can || !runs {
		return fmt.Errorf("the lesson cannot go on in %s", to.name)
	}
	if err := player.Undone(c); err != nil {
		return err
	}
	to.lesson, from.lesson = from.lesson, lesson.New(nil)
	to.stage, from.stage = from.stage, stage.New(m.cfg.panes)
	from.undone = true
	return nil
}

// leftBehind is a run that was undone some time ago.
type leftBehind struct{ run *branch }

func expires(b *branch) tea.Cmd {
	return tea.Tick(undoneFor, func(time.Time) tea.Msg { return leftBehind{b} })
}

// expire ends the cluster of a run that was undone, unless it is looked at; its history stays.
func (m *Explorer) expire(b *branch) tea.Cmd {
	switch {
	case b.cluster == nil || !slices.Contains(m.branches, b):
		return nil
	case b == m.branch || b == m.comparing.other:
		return expires(b)
	}
	end := b.end
	if b.left == nil {
		end = m.cfg.End
	}
	if end == nil {
		return nil // somebody else ends it
	}
	b.cluster, b.end, b.save, b.recording = nil, nil, nil, b.name // what would save it holds the cluster
	b.drive = drive.New(nil, "")
	b.travel = travel.New(b.past, true)
	b.travel.ToEvent(b.past.Latest().Last)
	b.moving.live = false
	m.safe.Go(func() { _ = end() }) // what came in its way is told when the explorer has ended
	m.forget()
	return nil
}

// forget closes the oldest of the runs that were undone, beyond those that are kept.
func (m *Explorer) forget() {
	var left []*branch
	for _, b := range m.branches {
		if b.undone && b.left != nil && b.cluster == nil && b != m.branch && b != m.comparing.other {
			left = append(left, b)
		}
	}
	for _, b := range left[:max(len(left)-undoneKept, 0)] {
		m.branches = slices.DeleteFunc(m.branches, func(other *branch) bool { return other == b })
		b.forget()
	}
}
