package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"kviz/cluster/console/command"
	"kviz/cluster/script"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// The & of a script. The shell's library would run the X of "X &" in a goroutine of its own, at the
// same time as what follows. So each "X &" of a parsed script is replaced by a call of the command
// startJob, with the number under which X is kept; X then runs as a part of the script that takes
// turns with the others ([sim.Turn]).

const (
	// startJob is the name of the command that starts a job. No script can give it: the
	// words of a shell have no zero bytes.
	startJob = "\x00&"
	// lastJob is the variable in whose place $! stands.
	lastJob = "KVIZ_LAST_JOB"

	// mostJobs is how many jobs of a script may run at once, with those of its jobs.
	mostJobs = 64
	// firstPID is the process ID of a script's first job, less one.
	firstPID = 1000
	// mostAtOnce is how many commands a part of a script may run, beside others, without waiting for the
	// cluster: then it waits for atOnceTime, and the others have their turns.
	mostAtOnce = 1000
	atOnceTime = time.Millisecond
	// nextTime is how much virtual time a job takes to start a command that talks to the cluster, after its
	// first one: a loop of them would make hundreds of requests in what is a moment to the others.
	nextTime = 20 * time.Millisecond
)

// bodies are the X of each "X &" of a shell's scripts.
type bodies struct{ all []*syntax.Stmt }

// take replaces each "X &" of what was parsed, and each $!.
func (b *bodies) take(root syntax.Node) {
	syntax.Walk(root, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			if !n.Background {
				break
			}
			body := *n
			body.Background = false
			b.take(&body)
			b.all = append(b.all, &body)
			*n = syntax.Stmt{Position: n.Position, Semicolon: n.Semicolon, Cmd: call(n.Pos(), startJob, strconv.Itoa(len(b.all)-1))}
			return false
		case *syntax.ParamExp:
			if n.Param != nil && n.Param.Value == "!" {
				name := *n.Param
				name.Value = lastJob
				n.Param = &name
			}
		}
		return true
	})
}

// call is a simple command of words that stand for themselves.
func call(at syntax.Pos, words ...string) *syntax.CallExpr {
	c := &syntax.CallExpr{}
	for _, w := range words {
		c.Args = append(c.Args, &syntax.Word{Parts: []syntax.WordPart{&syntax.SglQuoted{Left: at, Right: at, Value: w}}})
	}
	return c
}

// group is a script with all its jobs.
type group struct {
	top    *Session
	unhook func() bool

	mu     sync.Mutex
	null   *os.File // what jobs read from
	live   []*job   // in the order of their start
	begun  int      // jobs so far
	closed bool     // the script has ended

	ended sim.Cond // kernel's goroutine: a job has
}

// job is a command in the background of a script.
type job struct {
	group *group
	line  string
	pid   int
	shell *Session
	stop  context.CancelFunc // ends its shell, whatever that does
	quits context.Context    // of those of its commands that talk to the cluster
	quit  context.CancelFunc
	done  chan struct{}

	began atomic.Bool // a command that talks to the cluster

	over bool // kernel's goroutine
	exit int  // once it is over

	mu     sync.Mutex
	killed signal
}

// signal is the number of a signal; 0 is none.
type signal int

// withJobs has ctx be that of a script, which may have jobs: they and it take turns from the first one on.
func (s *Session) withJobs(ctx context.Context) (in context.Context, end func()) {
	g := &group{top: s}
	s.group, s.turn = g, s.c.kernel.NewTurn(s.flush)
	g.unhook = context.AfterFunc(ctx, func() {
		for _, j := range g.running() {
			j.stop()
		}
	})
	return sim.WithTurn(ctx, s.turn), g.end
}

// flush shows what a part of a script has printed, before the others have their turns. What a pipeline
// prints is shown when it has ended: its commands run side by side, and the last one when it likes.
func (s *Session) flush(ctx context.Context) {
	if ctx.Value(inPipeline{}) == nil {
		s.out.flush(s.job == nil)
	}
}

// inPipeline marks the context of a command whose input or output is a pipe.
type inPipeline struct{}

// runnerOf is the shell that calls a handler. The library hands it to nobody; a shell within a shell, or a
// function in one, has to be copied as it stands, as the library does for an & of its own.
func runnerOf(hc interp.HandlerContext) *interp.Runner {
	return (*interp.Runner)(reflect.ValueOf(hc).FieldByName("runner").UnsafePointer())
}

var (
	errManyJobs  = fmt.Errorf("fork: Resource temporarily unavailable: more than %d jobs at once; wait for some of them first", mostJobs)
	errDeepJobs  = fmt.Errorf("fork: Resource temporarily unavailable: more than %d shells run in one another", mostShells)
	errCaptured  = errors.New("& is not possible in $( ), which would wait for the job: put the whole command behind")
	errNoScript  = errors.New("& is not possible here")
	errEnded     = errors.New("the script has ended")
	errWasKilled = errors.New("killed")
)

// start starts the job of a number. What it prints goes where its shell prints, in the order of the turns.
func (s *Session) start(ctx context.Context, number string) error {
	hc := interp.HandlerCtx(ctx)
	n, err := strconv.Atoi(number)
	depth, _ := ctx.Value(shellDepth{}).(int)
	switch {
	case err != nil || s.group == nil || n >= len(s.bodies.all):
		return errNoScript
	case !lasts(hc.Stdout) || !lasts(hc.Stderr):
		return errCaptured
	case depth >= mostShells:
		return errDeepJobs
	}
	body := s.bodies.all[n]
	j, err := s.group.add(source(body))
	if err != nil {
		return err
	}
	inner := s.c.NewSession()
	inner.guard = s.guard
	inner.within, inner.source, inner.script, inner.columns = s.within, s.source, s.script, s.columns
	inner.group, inner.bodies, inner.job, inner.stdin = s.group, s.bodies, j, s.group.null
	inner.out = &output{to: [2]io.Writer{below(hc.Stdout), below(hc.Stderr)}, held: true}
	inner.turn = s.c.kernel.NewTurn(inner.flush)
	inner.runner = runnerOf(hc).Subshell()
	if err := interp.StdIO(inner.stdin, &stream{inner.out, 0}, &stream{inner.out, 1})(inner.runner); err != nil {
		return err
	}
	j.shell = inner
	run := context.WithValue(context.WithValue(context.WithoutCancel(ctx), shellOf{}, inner), shellDepth{}, depth+1)
	run, j.stop = context.WithCancel(sim.WithTurn(run, inner.turn))
	j.quits, j.quit = context.WithCancel(run)
	if err := s.group.begin(j); err != nil {
		return err
	}
	s.jobs.add(j)
	s.c.kernel.Beside("a job of a script", func() { j.run(run, body) })
	return hc.Builtin(ctx, []string{"eval", fmt.Sprintf("%s=%d", lastJob, j.pid)})
}

// lasts reports whether a job can print there: not into what becomes a word of its shell.
func lasts(w io.Writer) bool {
	switch w.(type) {
	case *stream, *os.File:
		return true
	}
	return false
}

// add makes a job.
func (g *group) add(line string) (*job, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return nil, errEnded
	case len(g.live) >= mostJobs:
		return nil, errManyJobs
	}
	if g.null == nil {
		var err error
		if g.null, err = os.Open(os.DevNull); err != nil {
			return nil, err
		}
	}
	g.begun++
	return &job{group: g, line: line, pid: firstPID + g.begun, done: make(chan struct{})}, nil
}

// begin has a job wait for its turn. With the first one its script begins to take turns too.
func (g *group) begin(j *job) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.top.turn.Begun() {
		g.top.out.hold(true)
		if err := g.top.turn.Begin(); err != nil {
			return err
		}
	}
	g.live = append(g.live, j)
	return j.shell.turn.Begin()
}

func (g *group) running() []*job {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.live)
}

func (g *group) remove(j *job) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.live = slices.DeleteFunc(g.live, func(o *job) bool { return o == j })
}

// end ends what still runs with its script, and says so.
func (g *group) end() {
	g.unhook()
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	left := g.running()
	for _, j := range left {
		j.kill(sigTerm)
	}
	g.top.out.hold(false)
	if g.top.turn.Begun() {
		_ = g.top.turn.End(nil)
	}
	for _, j := range left {
		<-j.done
		fmt.Fprintf(&stream{g.top.out, 1}, "kviz: still in the background, and ended with the script: %s\n", j.line)
	}
	g.top.jobs = shellJobs{} // process IDs begin again
	if g.null != nil {
		_ = g.null.Close() // nothing was written to it
	}
}

// run runs a job's shell.
func (j *job) run(ctx context.Context, body *syntax.Stmt) {
	defer j.stop()
	defer j.quit()
	s := j.shell
	s.turn.Await()
	exit := 0
	if j.signal() == 0 {
		err := s.runner.Run(ctx, body)
		code, is := interp.IsExitStatus(err)
		switch {
		case is:
			exit = int(code)
		case err != nil:
			exit = 1
			if j.signal() == 0 && ctx.Err() == nil {
				fmt.Fprintf(&stream{s.out, 1}, "%v\n", err)
			}
		}
	}
	s.turn.Await()
	if killed := j.signal(); killed != 0 {
		exit = 128 + int(killed)
	}
	s.out.flush(true)
	j.group.remove(j)
	_ = s.turn.End(func() { // else the cluster has stopped
		j.over, j.exit = true, exit
		j.group.ended.Broadcast()
	})
	close(j.done)
}

// kill ends a job as a signal does: what it waits for is given up, and it begins nothing more.
func (j *job) kill(by signal) {
	_ = j.shell.c.kernel.Do(func() {
		if !j.over {
			j.shell.turn.Rouse()
		}
	})
	j.mu.Lock()
	if j.killed == 0 {
		j.killed = by
	}
	j.mu.Unlock()
	j.quit()
}

// signal is what killed it, 0 if nothing did.
func (j *job) signal() signal {
	if j == nil {
		return 0
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.killed
}

// quitting is the context of a job's command that talks to the cluster: it ends when the job is killed,
// while its shell reads on what its pipes still hold.
type quitting struct {
	context.Context
	quits context.Context
}

func (q quitting) Done() <-chan struct{} { return q.quits.Done() }
func (q quitting) Err() error            { return q.quits.Err() }

// paces has a part of a script that never waits for the cluster wait for a moment now and then.
func (s *Session) paces(ctx context.Context) {
	if s.turn.Begun() && s.ran.Add(1)%mostAtOnce == 0 {
		_ = s.c.kernel.Wait(ctx, trace.ID{}, "compute", func(t *sim.Task) { t.Sleep(atOnceTime) })
	}
}

// hasJob reports whether a text has an & for a shell that was not parsed with its script: that of an eval,
// a trap or a file that is sourced.
func hasJob(file *syntax.File) (has bool) {
	syntax.Walk(file, func(n syntax.Node) bool {
		if st, ok := n.(*syntax.Stmt); ok {
			has = has || st.Background || st.Disown
		}
		return !has
	})
	return has
}

// calls is what is called for the words of a simple command, before it runs.
func (s *Session) calls(ctx context.Context, args []string) ([]string, error) {
	hc := interp.HandlerCtx(ctx)
	if s.killed() != 0 && !isPipe(hc.Stdin) { // who reads from a pipe comes to its end
		return nil, errWasKilled
	}
	if s.group != nil && args[0] != startJob {
		s.paces(ctx)
	}
	switch {
	case jobCommands[args[0]] != nil:
		return append([]string{ofJobs + args[0]}, args[1:]...), nil
	case slices.Contains([]string{"eval", "trap", "source", "."}, args[0]) && s.unparsed(hc, args):
		return []string{ofJobs + args[0]}, nil
	}
	return args, nil
}

// unparsed reports whether a command of the shell would parse something with an & in it.
func (s *Session) unparsed(hc interp.HandlerContext, args []string) bool {
	var text string
	switch {
	case len(args) == 1:
		return false
	case args[0] == "eval":
		text = strings.Join(args[1:], " ")
	case args[0] == "trap":
		text = args[1]
	default:
		r, err := folders{s.c, hc.Dir, s.within}.Open(args[1])
		if err != nil {
			return false // the shell says it
		}
		defer r.Close()
		if f, ok := r.(*os.File); ok {
			if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
				return false // it can be read once
			}
		}
		b, err := io.ReadAll(io.LimitReader(r, script.MaxSize+1))
		if err != nil {
			return false
		}
		text = string(b)
	}
	if !strings.Contains(text, "&") {
		return false
	}
	file, err := script.Parse(text, "")
	return err == nil && hasJob(file)
}

// started is what the command startJob ends with.
func (s *Session) started(err error, hc interp.HandlerContext) error {
	if err == nil {
		return nil
	}
	fmt.Fprintln(orDiscard(hc.Stderr), err)
	s.note(failure{line: hc.Pos.Line(), words: "&", exit: 254, err: err.Error(), offset: hc.Pos.Offset()})
	return interp.NewExitStatus(254)
}

// inTurn runs a command, which has its turn again when it has ended.
func (s *Session) inTurn(ctx context.Context, inv *command.Invocation) (int, error) {
	if name, is := strings.CutPrefix(inv.Args[0], ofJobs); is {
		inv.Args = append([]string{name}, inv.Args[1:]...)
		if run := jobCommands[name]; run != nil {
			exit := run(ctx, s, inv)
			s.turn.Await()
			return exit, nil
		}
		fmt.Fprintf(inv.Err, "%s: & is not possible in what it runs: write it in the script itself\n", name)
		return 2, nil
	}
	if s.job != nil {
		if _, told := s.c.find(inv.Args[0]); told {
			if s.killed() != 0 {
				return 0, errWasKilled
			}
			ctx = quitting{ctx, s.job.quits}
			inv.Err = &ofLiving{s.job, inv.Err}
			if s.job.began.Swap(true) && s.c.kernel.Wait(ctx, trace.ID{}, "start", func(t *sim.Task) { t.Sleep(nextTime) }) != nil {
				return 0, errWasKilled
			}
		}
	}
	exit := s.invoke(ctx, inv)
	s.turn.Await()
	return exit, nil
}

// ofLiving is the standard error of a job's command: what it says when it is killed is not a
// failure.
type ofLiving struct {
	job *job
	to  io.Writer
}

// Write is [io.Writer].
func (o *ofLiving) Write(p []byte) (int, error) {
	if o.job.signal() != 0 {
		return len(p), nil
	}
	return o.to.Write(p)
}

// killed is what killed the job that a shell is, or is in; 0 if nothing did.
func (s *Session) killed() signal {
	if s == nil {
		return 0
	}
	return s.job.signal()
}
