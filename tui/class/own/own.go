// Package own is what a student of a class has for themselves: a private cluster, in which the teacher's run has been run again
// up to the present moment, with the explorer on it. The teacher's run knows nothing of it.
//
// A student waits for it in a queue ([Runs.Go]), on a screen that still shows the class; a few are made ahead where a gate opens.
// What it may cost is bounded ([Limits], [Limited]): commands, faults, output, files, objects, processor and memory.
//
// Start reading at [Runs.Go].
package own

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/lessons"
	"kviz/tui"
	"kviz/tui/class"
	"kviz/tui/class/door"
	"kviz/tui/class/guest"
	"kviz/tui/class/lead"
	"kviz/tui/lesson"
	"kviz/tui/safe"
)

// Cluster is a private cluster.
type Cluster interface {
	tui.Cluster
	lessons.Cluster
	Busy() time.Duration // what it has spent of a processor
	Close() error
}

// Fork is what is to be run again.
type Fork struct {
	Past     []*trace.Event // the run from its beginning
	At       trace.ID
	Quota    int64 // bytes that a member's database may have from there on
	Progress func(control.ForkProgress)
}

// Forker runs a run again.
type Forker interface {
	Outlook(past []*trace.Event, at trace.ID) (control.ForkOutlook, error)
	Fork(ctx context.Context, f Fork) (Cluster, error)
}

// Player takes a student through the lesson.
type Player interface {
	lesson.Player
	Helped() map[string]lessons.Help
	Close()
}

// Lead is what the teacher shows.
type Lead interface{ Scene() *lead.Scene }

// Room is what is said of a student.
type Room interface {
	State() *class.State
	Progress(name, beat string, done, of int, miss string, broken bool)
	Help(name, beat string, hints, shown, undone int)
	Back(name string)
}

// Config says of which class the runs are.
type Config struct {
	Forker  Forker
	Lead    Lead
	Room    Room
	Teacher string // what the teacher is called
	Theme   string
	Screens *guest.Screens // where the teacher may look in; nil: nowhere

	// Changes gives channels that are closed with the next change of the scene, and of the room.
	Changes func() (scene, room <-chan struct{})
	// Branch makes a player that goes on with the lesson on a cluster in which the run was run again; nil: it is a walk, and a
	// student begins at the very event at which they ask.
	Branch func(c lessons.Cluster) (Player, error)
	// Fresh makes a cluster with nothing in it, in the place of a run that cannot be run again, whose members' databases may have
	// so many bytes; nil: that cannot be.
	Fresh func(ctx context.Context, quota int64) (Cluster, error)
	// Begin begins the lesson on such a cluster, at a beat, whose scene the lesson's recipe has set then. Nil where Fresh is.
	Begin func(ctx context.Context, c lessons.Cluster, beat string) (Player, error)

	Limits Limits
	// Used is how many bytes of memory the process has; nil asks the runtime.
	Used func() int64
}

// Limits bound what private clusters may cost. A zero field stands for the usual value.
type Limits struct {
	Private int // clusters at a time: 30
	Memory  int // MiB that the process may have: three quarters of the machine's
	Each    int // MiB that one more cluster is taken to need: 40
	Events  int // that a cluster keeps in memory once it stands: 16,384
	Forks   int // runs that are run again at a time: as many as there are processors
	Ahead   int // clusters that are made before anybody asks for them, where a gate opens: 4

	Commands, Faults int           // in Window: 20 and 5
	Window           time.Duration // 10 s
	Lines            int           // that run at a time: 4
	Steps            int           // commands of the shell's, in Window: 500
	Output           int           // bytes that a line prints on the screen: 64 KiB
	Piped            int           // bytes that one command prints, wherever to: 1 MiB
	Files            int64         // bytes in the folder: 16 MiB
	Members          int           // 9
	Nodes            int           // 6
	Pods             int           // 200
	Store            int64         // bytes of a member's database: 64 MiB

	Computes  time.Duration // that a line computes by itself at a stretch: 2 s
	Processor time.Duration // in a minute: 30 s
	Slow      float64       // how fast a cluster runs beyond that: 0.2
	Keep      time.Duration // for how long a run stays whose student was called back, or cut off: 10 min
}

func or[T comparable](is *T, usual T) {
	var zero T
	if *is == zero {
		*is = usual
	}
}

// Usual are the limits that hold where nothing else is said.
func Usual() Limits { return Limits{}.orUsual() }

func (l Limits) orUsual() Limits {
	or(&l.Private, 30)
	or(&l.Memory, machine())
	or(&l.Each, 40)
	or(&l.Events, 1<<14)
	or(&l.Forks, runtime.GOMAXPROCS(0))
	or(&l.Ahead, 4)
	or(&l.Commands, 20)
	or(&l.Faults, 5)
	or(&l.Window, 10*time.Second)
	or(&l.Lines, 4)
	or(&l.Steps, 500)
	or(&l.Output, 64<<10)
	or(&l.Piped, 1<<20)
	or(&l.Files, 16<<20)
	or(&l.Members, 9)
	or(&l.Nodes, 6)
	or(&l.Pods, 200)
	or(&l.Store, 64<<20)
	or(&l.Computes, 2*time.Second)
	or(&l.Processor, 30*time.Second)
	or(&l.Slow, 0.2)
	or(&l.Keep, 10*time.Minute)
	return l
}

// Runs are the private clusters of a class. All methods may be called from any goroutine.
type Runs struct {
	cfg    Config
	limits Limits
	memory memory
	ctx    context.Context
	cancel context.CancelFunc
	group  *safe.Group

	mu     sync.Mutex
	closed bool
	there  int             // clusters that there are, or are being made
	making int             // that are being made
	queue  []*ticket       // that nobody makes yet, students' first
	ahead  []*ticket       // for the students who come next: made, in the making, or in the queue
	kept   map[string]*run // of students who are not there, by name
	took   time.Duration   // how long it takes to make one; 0: not known
	now    moment          // where the class is, as far as clusters were made ahead
}

// New makes the runs of a class, of which there are none yet. Run makes some ahead; Close ends all.
func New(cfg Config) *Runs {
	r := &Runs{cfg: cfg, limits: cfg.Limits.orUsual(), kept: map[string]*run{}}
	r.memory = memory{most: int64(r.limits.Memory) << 20, each: int64(r.limits.Each) << 20, used: cfg.Used}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.group = safe.NewGroup(nil)
	return r
}

// ErrClosed is what is answered when the class has ended.
var ErrClosed = errors.New("the class has ended")

// Alone is why a student can have no run of their own now; "" if they can. It is cheap: a screen asks with each frame.
func (r *Runs) Alone(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed && (r.kept[name] != nil || len(r.ahead) > 0) {
		return ""
	}
	return r.refuses()
}

// OwnMachine is the advice to those for whom there is no cluster here.
const OwnMachine = "with kviz on your own machine (kviz explore) you can have one there"

// refuses is why no more clusters are made; "" if they are. The lock is held.
func (r *Runs) refuses() string {
	switch {
	case r.closed:
		return ErrClosed.Error()
	case r.there >= r.limits.Private:
		return "all clusters are taken that this machine has room for; " + OwnMachine
	case r.memory.full():
		return "this machine has no memory left for another cluster; " + OwnMachine
	}
	return ""
}

// Go takes a student into a run of their own, and comes back when they return to the class, when they give up waiting, or when
// ctx ends. An error is a sentence for the student.
func (r *Runs) Go(ctx context.Context, v *door.Visit, name string) error {
	return r.enter(ctx, on(v), name)
}

// enter is Go for any terminal.
func (r *Runs) enter(ctx context.Context, t terminal, name string) error {
	one := r.take(name)
	if one == nil {
		made, err := r.wait(ctx, t, name)
		if made == nil || err != nil {
			return err
		}
		one = made
	}
	defer r.cfg.Room.Back(name)
	stays, err := r.explore(ctx, t, name, one)
	if stays && err == nil && r.keep(name, one) {
		return nil
	}
	return errors.Join(err, r.end(one))
}

// Close ends all runs, and waits until nothing is left of those in which nobody is; a Go that is under way ends its own.
func (r *Runs) Close() error {
	r.mu.Lock()
	r.closed = true
	kept := r.kept
	r.kept = map[string]*run{}
	r.mu.Unlock()
	r.cancel()
	r.group.Wait()
	var all []error
	for _, one := range kept {
		all = append(all, r.end(one))
	}
	for _, t := range r.dropAhead() {
		all = append(all, r.giveUp(t))
	}
	if crash := r.group.Crash(); crash != nil {
		all = append(all, crash)
	}
	return errors.Join(all...)
}
