// Package lead is the teacher's run in a class: it brings the lesson on by what the teacher does, and says what everybody
// looks at (a [Scene]). It has no terminal: the projector, the teacher's notes and the students draw the same scene, each at a
// size of their own, so any of them may end and come back.
//
// A scene is the teacher's stage at 80x24, the size for which lessons are written; what changes on it is planned there, and
// other sizes follow the plan.
//
// Start reading at [Lead.Run].
package lead

import (
	"context"
	"errors"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/tui/action"
	"kviz/tui/class"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/safe"
	"kviz/tui/stage"
)

// Player is what has the lesson: [lessons.Player], or a fake in a test. Its methods return at once.
type Player interface {
	Start(id string) error
	Look() lessons.Look
	LookAs(given map[string]lessons.Answer) lessons.Look
	Do(action string) error
	Whole(beat string, a lessons.Answer) bool
	Right(beat string, a lessons.Answer) (right, known bool)
	Words(beat string, a lessons.Answer) string
}

// Marker is a player that sets marks, as one of a walk does.
type Marker interface {
	Mark(at trace.ID, spots []string, words string) error
}

// Commander is a player that has a say in commands that are run.
type Commander interface {
	Command(line string) error // an error: it is not run
}

// Config is a run that is taught.
type Config struct {
	Cluster lessons.Cluster
	History *view.History
	Player  Player
	Panes   []pane.Maker
	Room    *class.Room
	Lesson  string // as it is started: "L09", "L09#crash"; "": the player has been started
}

// Scene is what everybody looks at. Nothing in it changes.
type Scene struct {
	No      uint64 // rises with each change
	Stand   stage.Stand
	Around  stage.Around // the teacher's console and notices
	Black   bool         // the teacher has made the screens dark
	Running bool         // something moves by itself
	Ran     string       // the beat in which the newest command began or ended
}

// Lead is the teacher's run.
type Lead struct {
	Changed class.Bell // rings after each new scene

	cfg  Config
	do   chan func()
	stop chan struct{}

	mu    sync.Mutex
	scene *Scene

	// The rest belongs to Run.
	stage   *stage.Stage
	grid    *grid.Grid
	drawn   string
	black   bool
	spots   []string
	notice  string
	shell   shell
	ran     string        // the beat in which command came to be
	command stage.Command // the newest one
	beat    string        // where the class is
	seen    uint64        // the version of the beat that was looked at last
	group   *safe.Group
	ctx     context.Context
}

// The size of the teacher's own stage.
const width, height = 80, 24

// New makes a lead that has not begun.
func New(cfg Config) *Lead {
	return &Lead{
		cfg: cfg, do: make(chan func()), stop: make(chan struct{}), stage: stage.New(cfg.Panes), grid: grid.New(width, height),
		scene: &Scene{},
	}
}

// Scene is what everybody looks at now.
func (l *Lead) Scene() *Scene {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.scene
}

// LookAs is the lesson as a student sees it who gave these answers.
func (l *Lead) LookAs(given map[string]lessons.Answer) lessons.Look {
	return l.cfg.Player.LookAs(given)
}

// Whole reports whether an answer to a beat's question says all that is asked, and Words are an answer in words.
func (l *Lead) Whole(beat string, a lessons.Answer) bool   { return l.cfg.Player.Whole(beat, a) }
func (l *Lead) Words(beat string, a lessons.Answer) string { return l.cfg.Player.Words(beat, a) }

// How often the run is looked at while something moves, and while nothing does.
const (
	moving  = time.Second / 20
	resting = time.Second
)

// Run begins the lesson and teaches until ctx ends or something breaks. It keeps the history up to date.
func (l *Lead) Run(ctx context.Context) error {
	defer close(l.stop)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l.ctx, l.group = ctx, safe.NewGroup(cancel)
	defer l.group.Wait()
	defer cancel()
	l.group.Go(func() { l.cfg.History.Run(ctx) })
	if l.cfg.Lesson != "" {
		if err := l.cfg.Player.Start(l.cfg.Lesson); err != nil {
			return err
		}
	}
	grown, quiet := l.cfg.Cluster.Trace().Notify()
	defer quiet()
	last := time.Now()
	for {
		now := time.Now()
		l.step(now.Sub(last))
		last = now
		wait, wake := resting, grown
		if l.stage.Busy() || l.shell.busy() {
			wait, wake = moving, nil
		}
		next := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			next.Stop()
			if crash := l.group.Crash(); crash != nil {
				return crash
			}
			return nil
		case f := <-l.do:
			f()
		case <-wake:
		case <-next.C:
		}
		next.Stop()
	}
}

// errOver is what is answered when the class has ended.
var errOver = errors.New("the class has ended")

// in runs f on Run's goroutine and waits for it.
func (l *Lead) in(f func()) error {
	done := make(chan struct{})
	select {
	case l.do <- func() { defer close(done); f() }:
		<-done
		return nil
	case <-l.stop:
		return errOver
	}
}

// step is one look at the run: it brings lesson and stage up to date, and makes a scene where they have changed.
func (l *Lead) step(passed time.Duration) {
	look := l.cfg.Player.Look()
	if b := look.Beat; b != nil && b.Version != l.seen { // what was pointed out belongs to what was there before
		l.seen, l.spots = b.Version, nil
	}
	l.stage.Update(look, l.cfg.History)
	l.stage.Tick(passed)
	l.perform(l.stage.Does())
	l.keepsUp()
	l.publish()
}

// publish makes a scene, if it differs from the last one.
func (l *Lead) publish() {
	last := l.shell.last()
	if last != l.command {
		l.command, l.ran = last, l.beat
	}
	around := stage.Around{Speed: l.cfg.Cluster.Clock().Speed, Notice: l.notice, Console: stage.Console{Last: last}}
	l.stage.Draw(l.grid, around)
	drawn := l.grid.Plane()
	was := l.Scene()
	if l.black {
		drawn = "black"
	}
	for _, s := range l.spots {
		drawn += "\n" + s
	}
	if drawn == l.drawn {
		return
	}
	l.drawn = drawn
	stand := l.stage.Stand()
	stand.Spots = l.spots
	now := &Scene{No: was.No + 1, Stand: stand, Around: around, Black: l.black, Running: l.stage.Busy(), Ran: l.ran}
	l.mu.Lock()
	l.scene = now
	l.mu.Unlock()
	l.Changed.Ring()
}

// Press is a key of the teacher's that is the lesson's: space, enter, a digit.
func (l *Lead) Press(k tea.KeyPressMsg) error {
	return l.in(func() {
		l.notice = ""
		l.perform(l.stage.Key(k))
	})
}

// Do does an action of the lesson: "next", "back".
func (l *Lead) Do(what string) error {
	return l.answers(func() error { return l.cfg.Player.Do(what) })
}

// answers runs f on Run's goroutine and waits for what it answers.
func (l *Lead) answers(f func() error) error {
	var err error
	over := l.in(func() {
		l.notice = ""
		err = f()
	})
	return errors.Join(over, err)
}

// Mark sets a mark where the stage stands, with the places that are pointed out.
func (l *Lead) Mark(words string) error {
	m, ok := l.cfg.Player.(Marker)
	if !ok {
		return errors.New("marks are set in a walk; this is a lesson")
	}
	return l.answers(func() error {
		err := m.Mark(l.stage.Event(), l.spots, words)
		if err == nil {
			l.notice = "a mark is set here"
		}
		return err
	})
}

// Answer is an answer of the teacher's own to the question that is open, as an action of the lesson; it closes the poll.
func (l *Lead) Answer(what string) error {
	return l.in(func() {
		l.notice = ""
		l.perform(action.Lesson(what))
	})
}

// Exec runs a line in the teacher's console.
func (l *Lead) Exec(line string) error { return l.answers(func() error { l.exec(line); return nil }) }

// Black makes every screen dark, or ends that.
func (l *Lead) Black() error { return l.in(func() { l.black = !l.black }) }

// Spot puts rings around places of the picture in the place of those of the beat; none takes them away.
func (l *Lead) Spot(names ...string) error { return l.in(func() { l.spots = names }) }

// perform does what a key or the stage asks for.
func (l *Lead) perform(a action.Action) {
	switch a := a.(type) {
	case action.All:
		for _, one := range a {
			l.perform(one)
		}
	case action.Lesson:
		if err := l.advance(string(a)); err != nil {
			l.notice = err.Error()
		}
	case action.Offered:
		if b := l.cfg.Player.Look().Beat; b != nil && b.Offer == string(a) && !b.Behind {
			l.exec(string(a))
			_ = l.cfg.Player.Do("offered")
		}
	case action.Undo:
		if err := l.cfg.Player.Do("again"); err != nil {
			l.notice = err.Error()
		}
	case action.Notice:
		l.notice = a.Text
	}
}
