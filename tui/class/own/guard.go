package own

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"kviz/cluster/view"
)

// guard bounds one line. It implements [control.Guard].
type guard struct {
	of  *Limited
	end context.CancelCauseFunc
	dir string

	mu      sync.Mutex
	left    int       // bytes that may be printed on the screen
	room    int64     // bytes that the folder has left
	shells  int       // that compute by themselves
	since   time.Time // when one of them began
	counted time.Time // up to when total counts
	total   time.Duration
	stopped error
}

// stop ends the line.
func (g *guard) stop(why error) {
	g.mu.Lock()
	if g.stopped == nil {
		g.stopped = why
	}
	g.mu.Unlock()
	g.end(why)
}

// why is why the line was ended; nil where nobody ended it.
func (g *guard) why() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stopped
}

// Command implements [control.Guard].
func (g *guard) Command(args []string) error {
	if err := g.why(); err != nil {
		return err
	}
	l := g.of
	l.mu.Lock()
	ok := l.steps.take(time.Now())
	fault := len(args) > 2 && args[0] == "kviz" && args[1] == "fault" && !l.faults.take(time.Now())
	l.mu.Unlock()
	err := error(nil)
	switch {
	case !ok:
		err = errSteps
	case fault:
		err = errFaults
	default:
		err = l.refuses(args)
	}
	if err != nil {
		g.stop(err)
	}
	return err
}

// refuses is why a command is not run.
func (l *Limited) refuses(args []string) error {
	is := func(words ...string) bool { return len(args) >= len(words) && slices.Equal(args[:len(words)], words) }
	switch {
	case is("eval") || is("source") || is(".") || is("trap"):
		return errNoEval
	case is("kviz") && len(args) > 1 && slices.Contains([]string{"serve", "explore", "class", "present", "notes", "replay", "record", "bench", "simulate"}, args[1]):
		return fmt.Errorf("%s: %w", strings.Join(args[:2], " "), errElsewhere)
	}
	for i, a := range args {
		value, has := strings.CutPrefix(a, "--replicas=")
		if a == "--replicas" && i+1 < len(args) {
			value, has = args[i+1], true
		}
		if n, err := strconv.Atoi(value); has && err == nil && n > l.limits.Pods {
			return fmt.Errorf("%d pods are the most that a cluster has in a class", l.limits.Pods)
		}
	}
	if l.latest == nil {
		return nil
	}
	return l.tooMany(args, l.latest())
}

// tooMany is why a command is not run that would make more of what there is enough of.
func (l *Limited) tooMany(args []string, s *view.State) error {
	if s == nil || len(args) < 2 {
		return nil
	}
	grows := false
	switch args[0] {
	case "kubectl", "k":
		grows = slices.ContainsFunc(args[1:], func(a string) bool {
			return slices.Contains([]string{"create", "apply", "run", "replace", "expose", "autoscale", "set", "patch", "rollout"}, a)
		})
	case "kviz":
		if args[1] == "node" && slices.Contains(args, "join") && len(s.Objects("nodes", "")) >= l.limits.Nodes {
			return fmt.Errorf("%d nodes are the most that a cluster has in a class", l.limits.Nodes)
		}
	case "etcdctl":
		if slices.Contains(args, "member") && slices.Contains(args, "add") && len(s.Store.Members()) >= l.limits.Members {
			return fmt.Errorf("%d members are the most that a store has in a class", l.limits.Members)
		}
	}
	if n := len(s.Objects("pods", "")); grows && n > l.limits.Pods {
		return fmt.Errorf("there are %d pods, and %d are the most in a class: kubectl delete takes some away", n, l.limits.Pods)
	}
	return nil
}

// Computes implements [control.Guard].
func (g *guard) Computes(by int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if g.shells > 0 {
		g.total += now.Sub(g.counted)
	}
	g.counted = now
	g.shells += by
	if by > 0 {
		g.since = now
	}
}

func (g *guard) computing() bool { g.mu.Lock(); defer g.mu.Unlock(); return g.shells > 0 }

// computed is for how long its shells have computed, and stretch for how long they do without a break.
func (g *guard) computed(now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shells <= 0 {
		return g.total
	}
	return g.total + now.Sub(g.counted)
}

func (g *guard) stretch(now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shells <= 0 {
		return 0
	}
	return now.Sub(g.since)
}

// File implements [control.Guard].
func (g *guard) File(bytes int) error {
	g.mu.Lock()
	if g.room < int64(bytes) {
		g.room = g.of.limits.Files - size(g.dir) // something may have been taken away
	}
	fits := g.room >= int64(bytes)
	if fits {
		g.room -= int64(bytes)
	}
	g.mu.Unlock()
	if !fits {
		g.stop(errFull)
		return errFull
	}
	return nil
}

// Output implements [control.Guard].
func (g *guard) Output(to io.Writer) io.Writer {
	return &bounded{to: to, guard: g, left: g.of.limits.Piped}
}

// bounded is what one command prints.
type bounded struct {
	to    io.Writer
	guard *guard
	mu    sync.Mutex
	left  int
}

// Write is [io.Writer].
func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	fits := b.left >= len(p)
	b.left -= len(p)
	b.mu.Unlock()
	if !fits {
		b.guard.stop(errOutput)
		return 0, errOutput
	}
	return b.to.Write(p)
}

// screen is what a line prints on the student's screen.
func (g *guard) screen(to io.Writer) io.Writer {
	if to == nil {
		to = io.Discard
	}
	return screen{to, g}
}

type screen struct {
	to    io.Writer
	guard *guard
}

// Write is [io.Writer].
func (s screen) Write(p []byte) (int, error) {
	g := s.guard
	g.mu.Lock()
	n := min(len(p), max(g.left, 0))
	g.left -= len(p)
	g.mu.Unlock()
	if n == len(p) {
		return s.to.Write(p)
	}
	g.stop(errOutput)
	if n > 0 {
		if _, err := s.to.Write(p[:n]); err != nil {
			return 0, err
		}
	}
	return n, errOutput
}

// size is how many bytes the files of a folder have. What cannot be read counts as none.
func size(dir string) (all int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			all += info.Size()
		}
		return nil
	})
	return all
}

// rate is how often something may be done within some time.
type rate struct {
	most   int
	within time.Duration
	times  []time.Time
}

// take reports whether it may be done once more.
func (r *rate) take(now time.Time) bool {
	old := 0
	for old < len(r.times) && now.Sub(r.times[old]) >= r.within {
		old++
	}
	r.times = r.times[old:]
	if len(r.times) >= r.most {
		return false
	}
	r.times = append(r.times, now)
	return true
}
