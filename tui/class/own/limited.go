package own

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"kviz/cluster/control"
	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/tui/drive"
)

// seen is what of a cluster is given through as it is: it costs what looking costs.
type seen interface {
	drive.Cluster
	Faults() []control.FaultKind
	Targets() []string
	Words() []control.Word
}

// Limited is a private cluster as its student has it. By its type there is nothing in it that listens, serves, lends a
// terminal, or writes a trace to the disk; what is left is bounded.
type Limited struct {
	seen
	in     Cluster
	limits Limits
	latest func() *view.State // nil: not known
	own    string             // its folder while there is no lesson

	mu       sync.Mutex
	dir      string // the one folder that its lines reach
	commands rate
	faults   rate
	steps    rate
	running  map[*guard]struct{}
	computed time.Duration // by lines that have ended
	slowed   bool
	speed    float64 // before it was slowed
}

// NewLimited bounds a cluster. It has a folder of its own until it is closed.
func NewLimited(c Cluster, limits Limits) (*Limited, error) {
	limits = limits.orUsual()
	dir, err := os.MkdirTemp("", "kviz-own-")
	if err != nil {
		return nil, fmt.Errorf("there is no folder for a run of your own: %w", err)
	}
	c.Stand(dir)
	return &Limited{
		seen: c, in: c, limits: limits, own: dir, dir: dir, running: map[*guard]struct{}{},
		commands: rate{most: limits.Commands, within: limits.Window}, faults: rate{most: limits.Faults, within: limits.Window},
		steps: rate{most: limits.Steps, within: limits.Window},
	}, nil
}

// Close takes its folder away.
func (l *Limited) Close() error { return os.RemoveAll(l.own) }

// Sentences of what is refused.
var (
	errTooFast   = errors.New("that was too many commands in a short time: wait a few seconds")
	errFaults    = errors.New("that was too many faults in a short time: wait a few seconds")
	errLines     = errors.New("too many lines run at the same time: end one with ^c, or with kill")
	errSteps     = errors.New("the line was ended: it ran too many commands in a short time")
	errComputes  = errors.New("the line was ended: it computed for too long by itself")
	errOutput    = errors.New("the line was ended: it printed more than a class has room for (kubectl … | head prints less)")
	errSpent     = errors.New("your cluster has spent its processor time for this minute: wait a little")
	errLong      = errors.New("this line is too long here")
	errSlowed    = errors.New("your cluster has spent its processor time, and runs slowly for a while")
	errFull      = errors.New("your folder is full: > FILE empties one")
	errNoEval    = errors.New("that is not possible in a class: write the commands themselves, or sh FILE")
	errElsewhere = errors.New("that is not possible in a class: it is for a kviz of one's own")
)

// mostLine is how many bytes a line has.
const mostLine = 8 << 10

// Exec runs a line within the bounds.
func (l *Limited) Exec(ctx context.Context, line string, s control.Streams) int {
	errOut := s.Err
	if errOut == nil {
		errOut = io.Discard
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	g := &guard{of: l, end: end, left: l.limits.Output}
	if err := l.begin(g, line); err != nil {
		fmt.Fprintln(errOut, err)
		return 1
	}
	defer l.ended(g)
	s.Lend, s.Within, s.Guard = nil, g.dir, g
	s.Out, s.Err = g.screen(s.Out), g.screen(s.Err)
	exit := l.in.Exec(ctx, line, s)
	if why := g.why(); why != nil {
		fmt.Fprintln(errOut, why)
		return 1
	}
	return exit
}

// begin lets a line in.
func (l *Limited) begin(g *guard, line string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	switch {
	case len(line) > mostLine:
		return errLong
	case len(l.running) >= l.limits.Lines:
		return errLines
	case l.slowed && len(l.running) > 0:
		return errSpent
	case !l.commands.take(now):
		return errTooFast
	}
	g.dir = l.dir
	g.room = l.limits.Files - size(l.dir)
	l.running[g] = struct{}{}
	return nil
}

func (l *Limited) ended(g *guard) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.running, g)
	l.computed += g.computed(time.Now())
}

// Fault does a fault, within the bounds.
func (l *Limited) Fault(ctx context.Context, f control.Fault) error {
	l.mu.Lock()
	ok := l.faults.take(time.Now())
	l.mu.Unlock()
	if !ok {
		return errFaults
	}
	return l.in.Fault(ctx, f)
}

// Speed sets how fast it runs; not while it has spent too much.
func (l *Limited) Speed(x float64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.slowed {
		return errSlowed
	}
	return l.in.Speed(x)
}

// Scene is the cluster for the lesson's own player: its scripts are the lesson's, and what it makes its console stand in is the
// one folder that the student's lines reach.
func (l *Limited) Scene() lessons.Cluster { return scene{l.in, l} }

type scene struct {
	lessons.Cluster
	of *Limited
}

// Stand has the student's lines reach another folder. What was before is never one of the machine's.
func (s scene) Stand(dir string) (before string) {
	s.of.mu.Lock()
	before, s.of.dir = s.of.dir, dir
	s.of.mu.Unlock()
	s.Cluster.Stand(dir)
	return before
}

// slow has it run slowly, or as before.
func (l *Limited) slow(on bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.slowed == on {
		return nil
	}
	x := l.speed
	if on {
		l.speed, x = l.in.Clock().Speed, l.limits.Slow
		if l.speed > 0 {
			x = min(x, l.speed)
		}
		for g := range l.running {
			if g.computing() {
				g.stop(errSpent)
			}
		}
	}
	l.slowed = on
	return l.in.Speed(x)
}

// spent is what the cluster and its lines have spent of a processor. Lines that compute for too long are ended.
func (l *Limited) spent(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.in.Busy() + l.computed
	for g := range l.running {
		all += g.computed(now)
		if g.stretch(now) > l.limits.Computes {
			g.stop(errComputes)
		}
	}
	return all
}
