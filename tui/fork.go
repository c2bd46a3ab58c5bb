package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/keymap"
	"kviz/tui/menu"
	"kviz/tui/odds"
	"kviz/tui/overlay"
	"kviz/tui/words"
)

// Forker runs a run again.
type Forker interface {
	// Outlook says how long a fork takes and what does not come again exactly; the error
	// is why there can be none.
	Outlook(past []*trace.Event, at trace.ID) (control.ForkOutlook, error)
	// Fork runs a run again up to an event. It blocks, and ends when ctx does.
	Fork(ctx context.Context, f Fork) (Again, error)
	// Odds runs a run again many times. It blocks; when ctx ends it gives what it knows by
	// then.
	Odds(ctx context.Context, q Question) ([]odds.Chance, error)
}

// Fork is what is to be run again.
type Fork struct {
	Past     []*trace.Event // the run from its beginning
	Of       string         // what it is called
	At       trace.ID       // the event after which the branch goes its own way
	Speed    float64        // from there on
	Progress func(control.ForkProgress)
}

// Again is a cluster in which a run has been run again.
type Again struct {
	Cluster Cluster
	History *view.History
	Save    func(path string) error // writes it as a recording into a new file; may be nil
	Close   func() error
}

// forking is the fork that is under way.
type forking struct {
	stop context.CancelFunc // nil: none is
	bar  *overlay.Progress
	rate float64 // control-plane events a second that this machine has done; 0: not known
}

// Messages of a fork.
type (
	forkTold control.ForkProgress
	forkDone struct {
		name string
		of   Fork
		from *branch
		run  Again
		err  error

		undoes bool // what a learner did is taken back
	}
)

// cannotFork is why the run on the screen cannot be left; "" if it can.
func (m *Explorer) cannotFork() string {
	switch {
	case m.cfg.Forks == nil:
		return "nothing can be run again here"
	case m.recording == "" && m.cluster == nil:
		return m.drive.Absent()
	case m.forking.stop != nil || m.asking.stop != nil:
		return "a run is being run again already"
	}
	return ""
}

// askFork says how long it takes to run this again up to an event, and asks for the branch's
// name.
func (m *Explorer) askFork(at trace.ID, name string) action.Action {
	if why := m.cannotFork(); why != "" {
		return action.Notice{Text: why}
	}
	o, err := m.cfg.Forks.Outlook(m.events(), at)
	if err != nil {
		return action.Notice{Text: err.Error()}
	}
	about := o.About
	if m.forking.rate > 0 {
		about = time.Duration(float64(o.Events) / m.forking.rate * float64(time.Second))
	}
	says := []string{fmt.Sprintf("%s is run again up to #%s: %s, about %s. Enter goes there; what comes then is yours.", m.name, at, words.Count(int(o.Events), "event"), words.Dur(about))}
	says = append(says, o.NotExactly...)
	m.forking.bar = nil
	if name == "" {
		name = m.newName()
	}
	return action.Prompt{For: action.ForFork, Title: "Back to #" + at.String() + ", and differently: its name", Intro: strings.Join(says, "\n"), Text: name, At: at}
}

// fork runs the run on the screen again beside the explorer, up to an event.
func (m *Explorer) fork(at trace.ID, name string) action.Action {
	if why := m.cannotFork(); why != "" {
		return action.Notice{Text: why}
	}
	if name = strings.TrimSpace(name); name == "" {
		name = m.newName()
	}
	if m.named(name) != nil {
		ask := m.askFork(at, name)
		if p, ok := ask.(action.Prompt); ok {
			p.Error = fmt.Sprintf("there is a run %q already", name)
			return p
		}
		return ask
	}
	m.forkTo(at, name, false, &overlay.Progress{Title: "Back to #" + at.String(), Text: m.name + " is run again, and compared with what it was, event by event.", Stop: action.StopFork{}})
	return nil
}

// forkTo runs the run on the screen again up to an event, and shows how far it is.
func (m *Explorer) forkTo(at trace.ID, name string, undoes bool, bar *overlay.Progress) {
	ctx, stop := context.WithCancel(m.ctx)
	m.forking.stop, m.forking.bar = stop, bar
	m.open.Push(m.forking.bar)
	m.halt() // two at once would take twice as long
	f := Fork{
		Past: m.events(), Of: m.name, At: at, Speed: 1,
		Progress: func(p control.ForkProgress) { m.send(forkTold(p)) },
	}
	if m.cluster != nil {
		f.Speed = m.drive.Clock().Speed
	}
	from := m.branch
	m.safe.Go(func() {
		run, err := m.cfg.Forks.Fork(ctx, f)
		m.send(forkDone{name: name, of: f, from: from, run: run, err: err, undoes: undoes})
	})
}

// forkTold shows how far it is.
func (m *Explorer) forkTold(p control.ForkProgress) {
	bar := m.forking.bar
	if bar == nil {
		return
	}
	bar.Share = float64(p.Done) / float64(max(p.Of, 1))
	bar.Left = fmt.Sprintf("%d of %s, about %s more", p.Done, words.Count(int(p.Of), "event"), words.Dur(p.Left.Round(100*time.Millisecond)))
	if p.Done > 0 && p.Took > 0 {
		m.forking.rate = float64(p.Done) / p.Took.Seconds()
	}
}

// stopFork gives a fork up. What it has begun ends beside the explorer.
func (m *Explorer) stopFork() action.Action {
	if m.forking.stop == nil {
		return nil
	}
	m.forking.stop()
	return action.Notice{Text: "it is given up; " + m.name + " is as it was"}
}

// forkDone puts the branch on the screen, or says why there is none.
func (m *Explorer) forkDone(d forkDone) tea.Cmd {
	m.forking.stop()
	m.forking.stop = nil
	if m.open.Top() == m.forking.bar {
		m.open.Pop()
	}
	m.forking.bar = nil
	if d.err != nil {
		d.from.goOn()
		if d.undoes && !errors.Is(d.err, context.Canceled) {
			return m.perform(action.All{action.Lesson("again"), action.Notice{Text: d.err.Error() + "; the scene is set again"}})
		}
		m.notForked(d.err)
		return nil
	}
	b := newBranch(d.name, d.run.History, d.run.Cluster, "", m.cfg)
	b.left = &control.Fork{Parent: d.of.Of, At: d.of.At}
	b.end, b.save = d.run.Close, d.run.Save
	if d.undoes {
		if err := m.handOver(d.from, b); err != nil {
			m.safe.Go(func() { _ = b.end() })
			d.from.goOn()
			m.say(err.Error())
			return nil
		}
	}
	if m.keepUp != nil {
		b.rest = m.keepUp(b.past)
	}
	m.branches = append(m.branches, b)
	cmd := m.turnTo(b)
	if d.undoes {
		m.say("undone; " + d.of.Of + " stays to be looked at (x, then B)")
		return tea.Batch(cmd, expires(d.from))
	}
	run, _ := m.keys.Get(keymap.Pause)
	m.say(fmt.Sprintf("%s stands where %s was at #%s%s; %s lets it run", b.name, d.of.Of, d.of.At, otherLeader(d.from.past, b.past, d.of.At), run.Labels()))
	return cmd
}

// otherLeader says that another member leads than at that event of the first run: elections are not repeated, and raft does
// not always hand leadership over.
func otherLeader(first, branch *view.History, at trace.ID) string {
	_, pos, ok := first.Stream().At(trace.ID{Seq: at.Seq})
	if !ok {
		return ""
	}
	branch.CatchUp(0)
	was, is := first.At(pos), branch.Latest()
	if was == nil || len(is.Store.Members()) == 0 || was.Store.Leader == is.Store.Leader {
		return ""
	}
	return ", but " + control.OtherLeader(was.Store.Leader, is.Store.Leader)
}

// notForked says why there is no branch.
func (m *Explorer) notForked(err error) {
	var differs interface{ Where() trace.ID }
	switch {
	case errors.Is(err, context.Canceled): // which has been said
	case errors.As(err, &differs):
		m.open.Push(menu.Differs(err, differs.Where()))
	default:
		m.say(err.Error())
	}
}
