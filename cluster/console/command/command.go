// Package command is one invocation of a console command: its words, its streams, and
// how its requests enter the kernel.
//
// Kubernetes has no such thing; the nearest is a process that a shell starts.
// What differs: nothing is started, and time is the cluster's. It passes only
// while a request of the command is served ([Kernel.Task]), or while a command
// waits for a change ([Kernel.Changes]); limits are points of virtual time
// ([Deadline]). So a script leaves the same trace every time.
//
// Start reading at [Invocation]; the commands themselves are kubectl, etcd and
// verbs, beside this package.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"mvdan.cc/sh/v3/expand"

	"kviz/cluster/control"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Func is a command of the console. It gives the exit status.
type Func func(ctx context.Context, inv *Invocation) int

// Invocation is one use of a command.
type Invocation struct {
	Kernel *Kernel
	Args   []string // Args[0] is the command
	Dir    string
	In     io.Reader
	Out    io.Writer
	Err    io.Writer
	Files  Files
	// Piped says that In is a pipe or a file, not the user's keyboard.
	Piped   bool
	Script  bool     // nobody is at the keys: what never ends must be refused
	Source  string   // "console" or "file:line"
	Cause   trace.ID // the command in the trace
	Columns int
	Lend    control.Lend // nil: there is no terminal
	// Within, where what a stranger wrote runs, is the path of a file of the only folder that is
	// reached; any other is refused. Nil: every file is.
	Within func(name string) (path string, err error)
	Env    expand.Environ

	// Behind says that it runs in the background of a script, which ends it at the latest. AtOnce says that
	// it can be seen what it prints while it waits: other parts of the script run meanwhile.
	Behind, AtOnce bool

	// Untold is set by a command that prints what is not the same in every run, and
	// stays out of the trace.
	Untold bool
}

// Files are those that a command may read, by the names that the user gives.
type Files interface {
	Open(name string) (io.ReadCloser, error)
	// Create opens one for writing: empty, or at its end.
	Create(name string, atEnd bool) (io.WriteCloser, error)
	// List gives what a folder has, folders with a slash, or the name of a file itself.
	List(dir string) ([]string, error)
}

// Path is the path of a file on the disk that the person names; a command that opens files itself asks for it.
func (inv *Invocation) Path(name string) (string, error) {
	switch {
	case inv.Within != nil:
		return inv.Within(name)
	case filepath.IsAbs(name):
		return name, nil
	}
	return filepath.Join(inv.Dir, name), nil
}

// ReadFile is all of a file, or of the standard input for "-".
func (inv *Invocation) ReadFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(inv.In)
	}
	r, err := inv.Files.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s: no such file", name)
	}
	defer r.Close()
	return io.ReadAll(r)
}

// Task runs fn as a task of the console, with the command as the cause of its events.
func (inv *Invocation) Task(ctx context.Context, name string, fn func(*sim.Task)) error {
	return inv.Kernel.Task(ctx, inv.Cause, name, fn)
}

// MayWait refuses a command that would wait for ever: in a script, on a paused
// cluster.
func (inv *Invocation) MayWait() bool {
	if !inv.Script {
		return true
	}
	paused := false
	_ = inv.Kernel.Do(func() { paused = inv.Kernel.Paused() })
	if paused {
		fmt.Fprintf(inv.Err, "%s: the cluster is paused, and nobody is there to let it move: use kviz resume, or kviz step, first\n", inv.Args[0])
	}
	return !paused
}

// ScriptLimit is how long (in virtual time) a script's command waits if it sets no
// limit of its own: a script on a cluster that runs as fast as it can would otherwise
// wait for ever.
const ScriptLimit = time.Hour

// LimitOf is the limit of a command: its own, or, in a script, the longest.
func (inv *Invocation) LimitOf(own time.Duration) time.Duration {
	if own <= 0 && inv.Script {
		return ScriptLimit
	}
	return max(own, 0)
}

// ErrStopped is what commands fail with when the cluster has gone.
var ErrStopped = errors.New("the cluster has stopped")

// Kernel is the cluster's kernel as the commands of one console use it.
type Kernel struct {
	*sim.Kernel
	Process *sim.Process // whose tasks the commands' requests are
}

// Task runs fn as a task of the console, as work from outside; time passes for
// it. Its events have the command as cause.
func (k *Kernel) Task(ctx context.Context, cause trace.ID, name string, fn func(*sim.Task)) error {
	return k.CallAs(ctx, TaskOf(cause), k.Process, name, func(t *sim.Task) {
		t.SetCauses(cause)
		fn(t)
	})
}

// TaskOf is how the tasks of a command are known in what entered a run from outside.
func TaskOf(command trace.ID) string { return "command " + command.String() }

// Wait is Task for a command that only waits, or looks.
func (k *Kernel) Wait(ctx context.Context, cause trace.ID, name string, fn func(*sim.Task)) error {
	return k.Attend(ctx, k.Process, name, func(t *sim.Task) {
		t.SetCauses(cause)
		fn(t)
	})
}

// Time is how much virtual time has passed since the epoch.
func (k *Kernel) Time() (now time.Duration) {
	_ = k.Do(func() { now = k.Elapsed() })
	return now
}

// ParseDuration reads "5", "0.5" (seconds) or "2m30s".
func ParseDuration(s string) (time.Duration, error) {
	if d, ok := sim.Seconds(s); ok {
		return d, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is no duration: want 5, 0.5, 90s, 2m", s)
	}
	return d, nil
}
