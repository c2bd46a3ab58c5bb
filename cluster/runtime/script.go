package runtime

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"kviz/cluster/folder"
	"kviz/cluster/sim"
	"kviz/cluster/stdio"
	"kviz/cluster/trace"
)

// startScript runs a container's shell script as a process of its own, so that
// killing the container is killing the process.
func (r *Runtime) startScript(c *Container, s *Sandbox) {
	run := c.run
	run.process = r.newProcess(r.lane, c)
	run.process.Go("container "+short(c.ID), func(t *sim.Task) {
		t.SetCauses(c.StartedBy)
		sh := r.newShell(t, c, s, logWriter{c, r, false}, logWriter{c, r, true})
		sh.in, sh.term = &input{later: run.in}, run.term
		if run.term != nil {
			sh.out, sh.err = run.term, run.term
		}
		code := sh.exec(run.b.Script)
		if c.run == run {
			r.end(c, int32(code), reasonOf(int32(code)), "", []trace.ID{c.StartedBy}, false)
		}
	})
}

// runTrap runs what a script asked to do on TERM; the script ends with it.
func (r *Runtime) runTrap(c *Container, causes []trace.ID) {
	run, s := c.run, r.sandboxes[c.SandboxID]
	trap := run.trap
	run.trap = ""
	run.process.Kill()
	run.process = r.newProcess(r.lane, c)
	run.process.Go("trap "+short(c.ID), func(t *sim.Task) {
		t.SetCauses(causes...)
		sh := r.newShell(t, c, s, logWriter{c, r, false}, logWriter{c, r, true})
		sh.funcs = run.funcs
		code := sh.script(trap)
		if c.run == run {
			r.end(c, int32(code), reasonOf(int32(code)), "", causes, false)
		}
	})
}

type logWriter struct {
	c      *Container
	r      *Runtime
	stderr bool
}

func (w logWriter) Write(p []byte) (int, error) {
	w.c.log.write(w.r.k.Now(), string(p), w.stderr)
	return len(p), nil
}

// shell is a small POSIX shell inside a container: simple commands, ; && || !,
// pipes run one after the other, if, while, until, for, functions, redirections to files,
// variables, $(…) and $((…)). The commands are in exec.go.
type shell struct {
	r        *Runtime
	t        *sim.Task
	c        *Container
	s        *Sandbox
	env      *variables
	in       *input
	out, err io.Writer
	term     *stdio.Terminal // that its streams are; nil for none
	meter    *meter          // shared with all shells of the container
	words    int             // bytes of variables in the words of the current command
	depth    int             // shells and functions around it
	funcs    map[string]*function
	params   []string // $1 and those that follow
	size     int      // parts of the script
	deep     int      // parts of the functions around it
	lenient  bool     // of a probe or hook: see assumed
	tail     bool     // the current command is the last one of a script
	last     int
	exited   bool
	loop     int // 1 break, 2 continue, 3 return
}

func (r *Runtime) newShell(t *sim.Task, c *Container, s *Sandbox, out, err io.Writer) *shell {
	env := &variables{value: map[string]string{}}
	for k, v := range map[string]string{"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOSTNAME": s.Hostname, "HOME": "/root"} {
		_ = env.set(k, v)
	}
	for k, v := range c.Env {
		_ = env.set(k, v) // what the API server takes for one Pod has room
	}
	m := &meter{}
	if c.run != nil {
		m = &c.run.meter
	}
	return &shell{r: r, t: t, c: c, s: s, funcs: map[string]*function{}, env: env, in: &input{}, out: out, err: err, meter: m}
}

// input is what a command can read, once. Those that a command starts share it.
type input struct {
	text  string
	later *stdio.Input // what has still to be waited for; nil for nothing
}

// rest reads to the end.
func (in *input) rest(t *sim.Task) string {
	text := in.text
	if in.later != nil {
		text += in.later.Rest(t)
	}
	*in = input{}
	return text
}

// script parses and runs a text and gives its exit status.
func (sh *shell) script(text string) int {
	list, err := parseScript(text)
	if err != nil {
		fmt.Fprintf(sh.err, "sh: %v\n", err)
		return 2
	}
	sh.size = parts(text)
	for i, s := range list {
		if sh.exited || sh.loop != 0 {
			break
		}
		sh.tail = i == len(list)-1
		sh.stmt(s)
	}
	return sh.last
}

func (sh *shell) stmts(list []*syntax.Stmt) {
	for _, s := range list {
		if sh.exited || sh.loop != 0 {
			return
		}
		sh.stmt(s)
	}
}

func (sh *shell) stmt(s *syntax.Stmt) {
	if s.Background {
		sh.background(s)
		return
	}
	out, errw, in := sh.out, sh.err, sh.in
	if slices.IndexFunc(s.Redirs, func(rd *syntax.Redirect) bool { return !sh.redirect(rd) }) < 0 {
		sh.command(s.Cmd)
	} else {
		sh.last = 1
		sh.exited = special(s.Cmd)
	}
	sh.out, sh.err, sh.in = out, errw, in
	if s.Negated {
		sh.last = boolCode(sh.last != 0)
	}
}

// special reports whether a command is one of POSIX's special builtins: a redirection of
// one that fails ends the shell.
func special(cmd syntax.Command) bool {
	call, ok := cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return false
	}
	switch call.Args[0].Lit() {
	case ":", ".", "break", "continue", "eval", "exec", "exit", "export", "readonly", "return", "set", "shift", "times", "trap", "unset":
		return true
	}
	return false
}

// redirect does one redirection, or says why it cannot be done, in ash's words.
func (sh *shell) redirect(rd *syntax.Redirect) bool {
	if rd.Hdoc != nil {
		sh.in = &input{text: sh.word(rd.Hdoc)}
		return true
	}
	target := sh.word(rd.Word)
	w := io.Writer(fileWriter{sh, target})
	switch target {
	case "/dev/null":
		w = io.Discard
	case "&1", "1", "/dev/stdout", "/proc/1/fd/1":
		w = sh.out
	case "&2", "2", "/dev/stderr", "/proc/1/fd/2":
		w = sh.err
	}
	switch rd.Op {
	case syntax.RdrIn:
		text, err := "", error(nil)
		if target != "/dev/null" {
			text, err = sh.read(target)
		}
		if errors.Is(err, errNoFile) {
			err = errors.New("no such file") // the shell has words of its own
		}
		if err != nil {
			fmt.Fprintf(sh.err, "sh: can't open %s: %v\n", target, err)
			return false
		}
		sh.in = &input{text: text}
		return true
	case syntax.DplIn: // <&0: there is one input
		return true
	case syntax.RdrOut, syntax.RdrClob:
		if f, ok := w.(fileWriter); ok {
			if err := sh.disk().write(f.path, ""); err != nil {
				fmt.Fprintf(sh.err, "sh: can't create %s: %v\n", f.path, err)
				return false
			}
		}
	}
	if rd.N != nil && rd.N.Value == "2" {
		sh.err = w
	} else if rd.Op == syntax.RdrAll {
		sh.out, sh.err = w, w
	} else if rd.Op != syntax.DplOut || rd.N == nil {
		sh.out = w
	}
	return true
}

type fileWriter struct {
	sh   *shell
	path string
}

func (w fileWriter) Write(p []byte) (int, error) {
	d := w.sh.disk()
	text, _ := d.read(w.path)
	if err := d.write(w.path, text+string(p)); err != nil {
		w.sh.fail(fmt.Errorf("write error: %w", err))
		return 0, err
	}
	return len(p), nil
}

// disk is the container's; of a container that has ended, an empty one.
func (sh *shell) disk() *disk {
	if sh.c.run == nil {
		return &disk{own: folder.New()}
	}
	return sh.c.run.disk
}

func (sh *shell) command(cmd syntax.Command) {
	switch cmd.(type) {
	case *syntax.CallExpr, *syntax.BinaryCmd:
	default:
		sh.tail = false
	}
	switch c := cmd.(type) {
	case nil:
		sh.last = 0
	case *syntax.CallExpr:
		for _, a := range c.Assigns {
			if a.Name != nil {
				sh.assign(a.Name.Value, sh.word(a.Value))
			}
		}
		args := sh.fields(c.Args)
		sh.spend(1 + sh.words/page)
		if len(args) > 0 && !sh.exited {
			sh.last = sh.exec(args)
		} else if len(c.Assigns) > 0 && !sh.exited {
			sh.last = 0
		}
	case *syntax.BinaryCmd:
		sh.binary(c)
	case *syntax.Block:
		sh.stmts(c.Stmts)
	case *syntax.Subshell:
		child := *sh
		child.funcs = maps.Clone(sh.funcs)
		child.stmts(c.Stmts)
		sh.last = child.last
	case *syntax.IfClause:
		sh.ifClause(c)
	case *syntax.WhileClause:
		sh.while(c)
	case *syntax.ForClause:
		sh.forEach(c)
	case *syntax.FuncDecl:
		sh.funcs[c.Name.Value], sh.last = &function{c.Body, sh.size}, 0
	default:
		fmt.Fprintf(sh.err, "sh: this shell is simulated and does not know %T\n", cmd)
		sh.last = 2
	}
}

func (sh *shell) binary(c *syntax.BinaryCmd) {
	switch c.Op {
	case syntax.AndStmt, syntax.OrStmt:
		tail := sh.tail
		sh.tail = false
		sh.stmt(c.X)
		if !sh.exited && (sh.last == 0) == (c.Op == syntax.AndStmt) {
			sh.tail = tail
			sh.stmt(c.Y)
		}
	default: // a pipe: the left side runs to its end first
		sh.tail = false
		var buf strings.Builder
		left := *sh
		left.out = &bounded{&buf, maxPipe, func() { left.exited, left.last = true, brokenPipe }}
		left.stmt(c.X)
		in := sh.in
		sh.in = &input{text: buf.String()}
		sh.stmt(c.Y)
		sh.in = in
	}
}

func (sh *shell) ifClause(c *syntax.IfClause) {
	for c != nil {
		if len(c.Cond) == 0 { // else
			sh.stmts(c.Then)
			return
		}
		sh.stmts(c.Cond)
		if sh.last == 0 {
			sh.stmts(c.Then)
			return
		}
		c = c.Else
	}
	sh.last = 0
}

func (sh *shell) while(c *syntax.WhileClause) {
	for !sh.exited {
		sh.stmts(c.Cond)
		if (sh.last == 0) == c.Until || sh.exited {
			break
		}
		sh.stmts(c.Do)
		if sh.loopEnds() {
			break
		}
		sh.spend(1)
	}
	if !sh.exited {
		sh.last = 0
	}
}

func (sh *shell) loopEnds() bool {
	l := sh.loop
	if l == returning {
		return true
	}
	sh.loop = 0
	return l == 1 || sh.exited
}

func (sh *shell) forEach(c *syntax.ForClause) {
	it, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		fmt.Fprintln(sh.err, "sh: this shell is simulated and knows only for NAME in WORDS")
		sh.last = 2
		return
	}
	for _, w := range sh.fields(it.Items) {
		sh.assign(it.Name.Value, w)
		sh.stmts(c.Do)
		sh.spend(1)
		if sh.loopEnds() {
			break
		}
	}
}

func (sh *shell) expander() *expand.Config {
	return &expand.Config{
		Env: environ{sh},
		CmdSubst: func(w io.Writer, cs *syntax.CmdSubst) error {
			child := *sh
			child.tail = false
			child.out = &bounded{w, maxWord, func() { child.fail(errMemory); sh.exited = true }}
			child.stmts(cs.Stmts)
			sh.last = child.last
			return nil
		},
	}
}

func (sh *shell) fields(words []*syntax.Word) []string {
	sh.words = 0
	f, err := expand.Fields(sh.expander(), words...)
	if err != nil {
		fmt.Fprintf(sh.err, "sh: %v\n", err)
	}
	return f
}

func (sh *shell) word(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	sh.words = 0
	s, err := expand.Literal(sh.expander(), w)
	if err != nil {
		fmt.Fprintf(sh.err, "sh: %v\n", err)
	}
	return s
}

// environ is the shell's variables as the expander wants them.
type environ struct{ sh *shell }

// Get gives one variable.
func (e environ) Get(name string) expand.Variable {
	if name == "RANDOM" && e.sh.c != nil {
		return expand.Variable{Set: true, Kind: expand.String, Str: fmt.Sprint(e.sh.r.rand.IntN(1 << 15))}
	}
	if v, ok := e.sh.param(name); ok {
		return v
	}
	if name == "?" {
		return expand.Variable{Set: true, Kind: expand.String, Str: fmt.Sprint(e.sh.last)}
	}
	v, ok := e.sh.env.value[name]
	if e.sh.words += len(v); e.sh.words > maxWord {
		e.sh.fail(errMemory)
		return expand.Variable{}
	}
	return expand.Variable{Set: ok, Exported: true, Kind: expand.String, Str: v}
}

// Set sets one variable, as ${x:=y} and $((x++)) do.
func (e environ) Set(name string, v expand.Variable) error {
	e.sh.assign(name, v.Str)
	return nil
}

// Each visits all variables, sorted.
func (e environ) Each(fn func(string, expand.Variable) bool) {
	names := make([]string, 0, len(e.sh.env.value))
	for n := range e.sh.env.value {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		if !fn(n, e.Get(n)) {
			return
		}
	}
}

func boolCode(ok bool) int {
	if ok {
		return 0
	}
	return 1
}
