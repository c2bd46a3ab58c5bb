package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"kviz/cluster/console/command"
	"kviz/cluster/control"
	"kviz/cluster/nearest"
	"kviz/cluster/script"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Session is one shell: its variables, functions and working directory.
type Session struct {
	c      *Console
	within *confinement  // nil: it reaches every file
	guard  control.Guard // of a confined one; nil: it may cost what it likes
	busy   sync.Mutex
	runner *interp.Runner

	behind <-chan struct{} // of the line that is running: closed once the person types on
	before *Session        // a copy from before that line, where it can be put behind

	// Of the line that is running.
	stdin   *os.File // the person's keys, as against a pipe
	source  string   // "console", or the script's file name
	script  bool
	columns int
	lend    control.Lend
	out     *output
	failing sync.Mutex // of failed
	failed  failure

	// Of a script, whose commands may run in the background.
	group  *group // nil: there are no jobs
	turn   *sim.Turn
	job    *job // that this shell is, or is in; nil: the script itself
	bodies *bodies
	jobs   shellJobs
	ran    atomic.Int64 // commands since it began to take turns
}

// failure is the last command that ended with another status than 0.
type failure struct {
	line  uint
	words string
	exit  int
	event trace.ID
	err   string // the last line it wrote to its standard error

	offset uint // of the command in the text
	piped  bool // its output goes into a pipe: its status is not the pipeline's
}

// note takes a failure down. Of a pipeline, whose commands fail side by side, it
// is always the last one's.
func (s *Session) note(f failure) {
	s.failing.Lock()
	defer s.failing.Unlock()
	if was := s.failed; f.piped && was.exit != 0 && (!was.piped || was.offset > f.offset) {
		return
	}
	s.failed = f
}

// intoPipe reports whether w leads to the next command of a pipeline.
func intoPipe(w io.Writer) bool { return isPipe(w) }

// isPipe reports whether a stream leads to or from another command of a pipeline.
func isPipe(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok || f == nil {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}

// NewSession gives a shell of its own.
func (c *Console) NewSession() *Session { return &Session{c: c, bodies: &bodies{}} }

// copy is another shell with the same variables, functions and folder, as a shell's
// jobs get them. s is busy, and no line runs in it.
func (s *Session) copy() *Session {
	another := s.c.NewSession()
	if s.runner != nil {
		another.runner = s.runner.Subshell()
	}
	return another
}

// shellOf is the key of a context's session. A copied runner has the handlers of the
// runner that it was copied from; whose line they serve the context tells.
type shellOf struct{}

func session(ctx context.Context) *Session { s, _ := ctx.Value(shellOf{}).(*Session); return s }

// exec runs a line, in the folder dir if it is not "". s.busy is held.
func (s *Session) exec(ctx context.Context, dir, line string, io control.Streams) int {
	s.source, s.script, s.columns = io.Source, io.Source != "" && io.Source != "console", io.Columns
	if s.source == "" {
		s.source = "console"
	}
	into := s.bodies
	if !s.script {
		into = nil
	}
	file, err := parse(line, "", partOfALine, into)
	if err != nil {
		fmt.Fprintf(io.Err, "%v\n", err)
		return 2
	}
	if s.guard != nil {
		ticks(file)
	}
	return s.run(ctx, io, func(ctx context.Context) error {
		if s.script {
			var end func()
			ctx, end = s.withJobs(ctx)
			defer end()
		}
		if err := s.enter(ctx, dir); err != nil {
			return err
		}
		return s.runner.Run(ctx, file)
	})
}

// enter has the shell stand in a folder as the command cd does, which says if there
// is no such folder any more; the line then runs where the shell stood.
func (s *Session) enter(ctx context.Context, dir string) error {
	if dir == "" || dir == s.runner.Dir {
		return nil
	}
	name, err := syntax.Quote(dir, syntax.LangBash)
	if err != nil {
		return fmt.Errorf("console: cd: %w", err)
	}
	file, err := parse("cd "+name, "", partOfALine, nil)
	if err != nil {
		return err
	}
	if err := s.runner.Run(ctx, file); ctx.Err() != nil {
		return err
	}
	return nil
}

// run sets the streams up and runs do; it gives the exit status.
func (s *Session) run(ctx context.Context, streams control.Streams, do func(context.Context) error) int {
	stdin, done, err := stdinFile(streams.In)
	if err != nil {
		fmt.Fprintf(streams.Err, "console: %v\n", err)
		return 1
	}
	defer done()
	s.stdin, s.lend = stdin, streams.Lend
	var writing sync.Mutex
	s.out = &output{to: [2]io.Writer{&inTurn{&writing, orDiscard(streams.Out)}, &inTurn{&writing, orDiscard(streams.Err)}}}
	out, errOut := &stream{s.out, 0}, &stream{s.out, 1}
	if s.runner == nil {
		s.runner, err = interp.New(s.options(stdin, out, errOut)...)
		if err != nil {
			fmt.Fprintf(streams.Err, "console: %v\n", err)
			return 1
		}
		s.runner.Reset()
	}
	if err := interp.StdIO(stdin, out, errOut)(s.runner); err != nil {
		fmt.Fprintf(streams.Err, "console: %v\n", err)
		return 1
	}
	err = do(context.WithValue(ctx, shellOf{}, s))
	if code, ok := interp.IsExitStatus(err); ok {
		return int(code)
	}
	if err != nil {
		s.broken(errOut, err)
		return 1
	}
	return 0
}

// options are those of the session's shell, and of the shells in it.
func (s *Session) options(in *os.File, out, errOut io.Writer) []interp.RunnerOption {
	options := []interp.RunnerOption{interp.StdIO(in, out, errOut), interp.ExecHandlers(handle), interp.CallHandler(help)}
	if s.within != nil {
		options = append(options, s.within.options()...)
	}
	return options
}

// stdinFile gives what the shell reads from as a file. Input that is no file
// is copied to one first.
func stdinFile(in io.Reader) (*os.File, func(), error) {
	if f, ok := in.(*os.File); ok && f != nil {
		return f, func() {}, nil
	}
	if in == nil {
		f, err := os.Open(os.DevNull)
		return f, func() { f.Close() }, err
	}
	f, err := os.CreateTemp("", "kviz-stdin-")
	if err != nil {
		return nil, nil, err
	}
	done := func() { f.Close(); os.Remove(f.Name()) }
	if _, err = io.Copy(f, in); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return f, done, nil
}

// inTurn lets the commands of a pipeline, which run side by side, write to what
// is often the same buffer for output and errors.
type inTurn struct {
	mu *sync.Mutex
	w  io.Writer
}

func (o *inTurn) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(p)
}

func orDiscard(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}

// What is said of an & where there can be none: at the prompt of the explorer, which takes off the & of a line
// that is one command and says it in [control.Streams], and in a shell within a shell that is typed there.
const (
	inPart      = "& is not possible in a shell within a shell: put it behind the whole command"
	partOfALine = "& puts a whole line behind, not a part of it: type what is to run first as a line of its own, or { A; B; } & to put both behind"
	noCoproc    = "there is no coproc here, nor &| and &!: a script has &"
)

// parse reads a text of a shell. An "X &" goes into bodies; where there are none, why says that there can be
// no &.
func parse(text, name, why string, into *bodies) (*syntax.File, error) {
	file, err := script.Parse(text, name)
	if err != nil {
		return nil, err
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CoprocClause); ok && err == nil {
			err = fmt.Errorf("%s: %s", place(name, c.Pos().Line()), noCoproc)
		}
		st, ok := n.(*syntax.Stmt)
		switch {
		case !ok || err != nil:
		case st.Coprocess || st.Disown:
			err = fmt.Errorf("%s: %s", place(name, st.Pos().Line()), noCoproc)
		case st.Background && into == nil:
			err = fmt.Errorf("%s: %s", place(name, st.Pos().Line()), why)
		}
		return true
	})
	if err == nil && into != nil {
		into.take(file)
	}
	return file, err
}

func place(name string, line uint) string {
	if name == "" {
		return fmt.Sprintf("line %d", line)
	}
	return fmt.Sprintf("%s:%d", name, line)
}

// mostFrames is how many calls of the interpreter may be in one another: some 1,000 of a shell's
// functions. Without a limit, f() { f; } would overflow the stack, which ends the process.
const mostFrames = 10_000

// help tells the console's commands where the shell would tell its own. It sees each command before it
// runs, and stops those that are too deep in others.
func help(ctx context.Context, args []string) ([]string, error) {
	var pc [1]uintptr
	if runtime.Callers(mostFrames, pc[:]) > 0 {
		return nil, fmt.Errorf("%s: too many functions or scripts run in one another", args[0])
	}
	s := session(ctx)
	if err := s.guards(ctx, args); err != nil {
		return nil, err
	}
	if args, err := s.calls(ctx, args); err != nil || len(args) != 1 || args[0] != "help" {
		return args, err
	}
	w := orDiscard(interp.HandlerCtx(ctx).Stdout)
	var others []string
	for _, name := range s.c.Commands() {
		if means := told[name]; means != "" {
			fmt.Fprintf(w, "%-10s %s\n", name, means)
		} else if name != "kviz" && name != "k" {
			others = append(others, name)
		}
	}
	fmt.Fprintf(w, "%-10s the programs of these names: kviz help tools; the shell itself: help NAME, as in help for\n", strings.Join(others, ", "))
	if s.c.command("kviz") != nil {
		fmt.Fprintf(w, "%-10s drives the simulation: kviz help\n", "kviz")
	}
	return []string{"true"}, nil
}

// told is what help says of a command.
var told = map[string]string{
	"kubectl": "Kubernetes' own, or k: kubectl get pods -A; kubectl apply -f manifests/hello.yaml (ls manifests); kubectl --help",
	"etcdctl": "etcd's own: etcdctl member list; etcdctl get --prefix /registry --keys-only; etcdctl --help",
	"etcdutl": "etcd's own, for snapshot files: etcdutl --help",
	"on":      "a tool of a node: on node-1 crictl ps; on node-1 iptables-save; on node-1 curl URL",
	"timeout": "ends a command that would wait for ever, after virtual time: timeout 30s kubectl get pods -w",
	"sleep":   "lets virtual time pass: sleep 5",
	"date":    "the cluster's time: date, date +%s, date -d '5 minutes ago'",
}

// handle runs one simple command that is no builtin of the shell.
func handle(interp.ExecHandlerFunc) interp.ExecHandlerFunc {
	return func(ctx context.Context, args []string) error {
		s := session(ctx)
		hc := interp.HandlerCtx(ctx)
		if args[0] == tick {
			return ticked(args)
		}
		if args[0] == startJob {
			return s.started(s.start(ctx, args[1]), hc)
		}
		var last lastLine
		errOut := io.MultiWriter(orDiscard(hc.Stderr), &last)
		inv := &command.Invocation{
			Kernel: s.c.kernel, Files: folders{s.c, hc.Dir, s.within}, Args: args, Dir: hc.Dir, In: hc.Stdin, Out: orDiscard(hc.Stdout), Err: errOut,
			Script: s.script, Source: s.source, Columns: s.columns,
			Lend: s.lend, Env: hc.Env,
		}
		if s.within != nil {
			inv.Lend, inv.Within = nil, func(name string) (string, error) { return s.within.reach(hc.Dir, name) }
		}
		if s.guard != nil {
			inv.Out, inv.Err = s.guard.Output(inv.Out), s.guard.Output(inv.Err)
			computes(s.guard, -1)
			defer computes(s.guard, 1)
		}
		if inv.In == nil {
			inv.In = strings.NewReader("")
		}
		if f, ok := hc.Stdin.(*os.File); ok {
			inv.Piped = f != s.stdin
		}
		if inv.Piped && isPipe(hc.Stdin) || isPipe(hc.Stdout) {
			ctx = context.WithValue(ctx, inPipeline{}, true)
		}
		inv.Behind = s.job != nil
		inv.AtOnce = s.turn.Begun() && !isPipe(hc.Stdout)
		if s.source != "console" && !strings.Contains(s.source, ":") {
			inv.Source = fmt.Sprintf("%s:%d", s.source, hc.Pos.Line())
		}
		exit, err := s.inTurn(ctx, inv)
		if err != nil {
			return err
		}
		if exit != 0 {
			s.note(failure{
				line: hc.Pos.Line(), words: quoteAll(inv.Args), exit: exit, event: inv.Cause, err: last.String(),
				offset: hc.Pos.Offset(), piped: intoPipe(hc.Stdout),
			})
			return interp.NewExitStatus(uint8(exit))
		}
		return nil
	}
}

// hint says what an unknown command may have meant.
func (s *Session) hint(name string) string {
	if near := nearest.To(name, append(s.c.Commands(), "echo", "printf", "test", "cd", "pwd", "set", "read")); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return " (the console runs no other programs; its commands: " + strings.Join(s.c.Commands(), ", ") + ")"
}

// lastLine keeps the last line written to it.
type lastLine struct{ b []byte }

func (l *lastLine) Write(p []byte) (int, error) {
	l.b = append(l.b, p...)
	if len(l.b) > 4096 {
		l.b = append([]byte(nil), l.b[len(l.b)-2048:]...)
	}
	return len(p), nil
}

func (l *lastLine) String() string {
	lines := strings.Split(strings.TrimRight(string(l.b), "\n"), "\n")
	return lines[len(lines)-1]
}

// ScriptError says where a script failed.
type ScriptError struct {
	File  string
	Line  uint
	Words string // the command
	Exit  int
	Event trace.ID // the command in the trace; zero for a command that left no mark there
	Last  trace.ID // the newest event when it failed
	Err   string   // the last line of its standard error
}

// Error is "file:line: command: exit status 1 (event #214)".
func (e *ScriptError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d: %s: exit status %d", e.File, e.Line, e.Words, e.Exit)
	if !e.Event.IsZero() {
		fmt.Fprintf(&b, " (event #%s)", e.Event)
	} else {
		fmt.Fprintf(&b, " (after event #%s)", e.Last)
	}
	if e.Err != "" {
		fmt.Fprintf(&b, ": %s", e.Err)
	}
	return b.String()
}

// RunFile runs a script and stops at the first command that fails, as a shell
// does after "set -e"; the error is then a *ScriptError.
func (c *Console) RunFile(ctx context.Context, path string, io control.Streams) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("script: %w", err)
	}
	return c.RunScript(ctx, path, string(text), io)
}

// RunScript is [Console.RunFile] for a script that is no file; name is what
// errors and the trace call it.
func (c *Console) RunScript(ctx context.Context, name, text string, io control.Streams) error {
	s := c.NewSession()
	file, err := parse(text, filepath.Base(name), "", s.bodies)
	if err != nil {
		return err
	}
	s.busy.Lock()
	defer s.busy.Unlock()
	s.source, s.script, s.columns = filepath.Base(name), true, io.Columns
	exit := s.run(ctx, io, func(ctx context.Context) error {
		if err := interp.Params("-e")(s.runner); err != nil {
			return err
		}
		ctx, end := s.withJobs(ctx)
		defer end()
		var last error
		for _, st := range file.Stmts {
			s.failed = failure{}
			err := s.runner.Run(ctx, st)
			if err != nil && s.failed.exit == 0 { // a builtin of the shell
				s.failed = failure{line: st.Pos().Line(), words: source(st), exit: 1}
			}
			if err != nil && (s.runner.Exited() || st.Negated || ctx.Err() != nil) {
				return err
			}
			if s.runner.Exited() {
				return nil
			}
			last = err // after set +e, and where the shell itself does not stop
		}
		return last
	})
	if exit == 0 {
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return &ScriptError{File: name, Line: s.failed.line, Words: s.failed.words, Exit: exit, Event: s.failed.event, Last: c.lastEvent(), Err: s.failed.err}
}

// source is a statement as text, on one line.
func source(st *syntax.Stmt) string {
	var b strings.Builder
	if err := syntax.NewPrinter(syntax.SingleLine(true)).Print(&b, st); err != nil {
		return "command"
	}
	return b.String()
}
