package runtime

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kviz/cluster/remote"
	"kviz/cluster/sim"
	"kviz/cluster/stdio"
	"kviz/cluster/trace"
)

// Dialer is the network as a command inside a container sees it; package
// network has it.
type Dialer interface {
	// Curl fetches a URL from a pod and gives what curl would print and return.
	Curl(t *sim.Task, node, pod, url string, limit time.Duration) (body string, exit int, stderr string)
	// Connect opens a connection from a pod to a port of an address or a name.
	Connect(t *sim.Task, node, pod, host string, port int) (remote.Connection, error)
	// Lookup resolves a name from a pod.
	Lookup(t *sim.Task, node, pod, name string) ([]string, error)
}

// SetDialer joins commands inside containers to a network.
func (r *Runtime) SetDialer(d Dialer) { r.dialer = d }

// ExecResult is how a command inside a container ended.
type ExecResult struct {
	Stdout, Stderr string
	Code           int
}

// Exec is the CRI call ExecSync: it runs a command of a probe or a hook inside a running
// container. limit 0 is none; a command that takes longer ends with an error. One that
// the image has, or may have, and that is not simulated is assumed to succeed.
func (r *Runtime) Exec(t *sim.Task, containerID string, argv []string, limit time.Duration) (ExecResult, error) {
	var out, errw strings.Builder
	code, err := r.exec(t, containerID, argv, &stdio.Streams{Out: &out, Err: &errw}, limit, true)
	if err != nil {
		return ExecResult{}, err
	}
	return ExecResult{Stdout: out.String(), Stderr: errw.String(), Code: code}, nil
}

// ExecStream is the CRI's Exec, for a client that has requested a session from the
// kubelet: the command gets the client's streams, and its exit code is returned. The
// call is recorded.
func (r *Runtime) ExecStream(t *sim.Task, containerID string, argv []string, streams *stdio.Streams) (code int, err error) {
	c, s, err := r.find(containerID)
	if err != nil {
		return 0, err
	}
	_, err = r.call(t, trace.RuntimeCall{Pod: s.key(), Container: c.Name, Call: "Exec", Arg: strings.Join(argv, " ")}, 0, func() (string, error) {
		code, err = r.exec(t, containerID, argv, streams, 0, false)
		return fmt.Sprintf("exit code %d", code), err
	})
	return code, err
}

// What a shell prints for a command that was ended by a signal.
const (
	hungUp      = 128 + 1  // SIGHUP
	interrupted = 128 + 2  // SIGINT
	killed      = 128 + 9  // SIGKILL, with the container
	brokenPipe  = 128 + 13 // SIGPIPE
)

func (r *Runtime) exec(t *sim.Task, containerID string, argv []string, streams *stdio.Streams, limit time.Duration, probe bool) (int, error) {
	c, s, err := r.find(containerID)
	if err != nil {
		return 0, err
	}
	if r.down {
		return 0, r.unavailable()
	}
	if c.State != Running {
		return 0, &Error{Code: "Unknown", Desc: fmt.Sprintf("failed to exec in container: failed to load task: container %q is not running", short(c.ID))}
	}
	if why := refuse(argv, c.Env); why != "" {
		return 0, &Error{Code: "Unknown", Desc: "failed to exec in container: failed to start exec: OCI runtime exec failed: exec failed: " + why}
	}
	if len(argv) > 0 && (c.run.lacks(c, argv[0]) || !probe && !performs(argv[0]) && !c.has(argv[0])) {
		return 0, &Error{Code: "Unknown", Desc: fmt.Sprintf("failed to exec in container: failed to start exec %q: OCI runtime exec failed: exec failed: unable to start container process: %s", r.newID(), notFound(argv[0]))}
	}
	// The command is a process of its own, so that a limit, or a key, can kill it.
	p := r.k.NewProcess(r.lane)
	var over sim.Cond
	code, done := 0, false
	end := func(with int) {
		if !done {
			code, done = with, true
			over.Broadcast()
		}
	}
	in, term := streams.In, (*stdio.Terminal)(nil)
	out, errw := streams.Writers()
	if streams.TTY {
		term = stdio.NewTerminal(streams.Out)
		term.Interrupt = func() { end(interrupted) }
		out, errw = term, term
		if in = term.Lines; streams.In != nil {
			streams.In.To(term.Take)
		}
	}
	streams.OnClose(func() { end(hungUp) })
	p.OnCrash(func(broken *sim.PanicError) {
		fmt.Fprintln(errw, broken.Brief())
		end(crashStatus)
	})
	p.Go("exec "+short(c.ID), func(ct *sim.Task) {
		ct.SetCauses(t.Causes()...)
		sh := r.newShell(ct, c, s, out, errw)
		sh.in, sh.term, sh.lenient = &input{later: in}, term, probe
		if !probe && len(argv) > 0 && !performs(argv[0]) {
			fmt.Fprintf(errw, "kviz does not simulate %s\n", named(argv[0]))
			end(127)
			return
		}
		end(sh.exec(argv))
	})
	if run := c.run; limit == 0 {
		p.Go("container of "+short(c.ID), func(ct *sim.Task) {
			for c.run == run {
				run.news.Wait(ct)
			}
			end(killed)
		})
	}
	defer p.Kill()
	for !done {
		if !over.WaitTimeout(t, limit) && !done {
			return 0, &Error{Code: "DeadlineExceeded", Desc: fmt.Sprintf("failed to exec in container: timeout %s exceeded: context deadline exceeded", limit)}
		}
	}
	return code, nil
}

// lacks reports whether an exec finds no such program.
func (run *running) lacks(c *Container, program string) bool {
	if _, there := run.disk.read(program); there {
		return false
	}
	return c.lacks(program)
}

// assumed does what a program is assumed to do that is not simulated, and says so. One of a
// probe or hook succeeds, and so does one of a container's script that is the image's own;
// but the last one of a server's script is the server.
func (sh *shell) assumed(program string) bool {
	said := func(what string) {
		fmt.Fprintf(sh.err, "kviz does not simulate %s: it is assumed to %s\n", named(program), what)
	}
	run := sh.c.run
	img, _ := sh.c.image()
	if !sh.lenient && (run == nil || run.process != sh.t.Process() || !img.Ships(program)) {
		return false
	}
	if sh.lenient || sh.c.Finishes || !sh.tail {
		said("succeed")
		return true
	}
	said("run until stopped")
	run.serves = slices.Concat(run.serves, sh.c.Ports)
	run.b.IgnoreTerm = false
	sh.sleep(forever)
	return true
}

// performs reports whether a program is one that is simulated.
func performs(program string) bool {
	name := program[strings.LastIndexByte(program, '/')+1:]
	return builtins[name] != nil || isShell(name)
}

// isShell reports whether a name is a shell's.
func isShell(name string) bool { return name == "sh" || name == "bash" || name == "ash" }

// builtins are the commands containers have.
var builtins map[string]func(*shell, []string) int

func init() { // not a composite literal: the commands refer to the table
	builtins = map[string]func(*shell, []string) int{
		"echo": cmdEcho, "printf": cmdPrintf, "cat": cmdCat, "touch": cmdTouch, "rm": cmdRm, "mv": cmdMv, "ln": cmdLn, "dd": cmdDd, "ls": cmdLs, "find": cmdFind,
		"mkdir": func(*shell, []string) int { return 0 }, "chmod": func(*shell, []string) int { return 0 },
		"set": func(*shell, []string) int { return 0 }, "wait": cmdWait, "trap": cmdTrap,
		"sleep": cmdSleep, "true": func(*shell, []string) int { return 0 }, ":": func(*shell, []string) int { return 0 },
		"false": func(*shell, []string) int { return 1 }, "exit": cmdExit, "test": cmdTest, "[": cmdTest, "[[": cmdTest, "expr": cmdExpr,
		"hostname": cmdHostname, "env": cmdEnv, "printenv": cmdEnv, "export": cmdExport, "date": cmdDate, "id": cmdID,
		"break": func(sh *shell, _ []string) int { sh.loop = 1; return 0 }, "continue": func(sh *shell, _ []string) int { sh.loop = 2; return 0 },
		"exec": func(sh *shell, a []string) int { sh.exited, sh.tail = true, true; return sh.exec(a) }, "tail": cmdTail, "ps": cmdPs,
		"httpd": cmdListen, "nc": cmdListen, "python": cmdListen, "python3": cmdListen, "nginx": cmdListen,
		"kubectl": cmdKubectl, "curl": cmdCurl, "wget": cmdWget, "nslookup": cmdNslookup, "kill": cmdKill,
		"return": cmdReturn, "shift": cmdShift,
	}
}

// exec runs one command and gives its exit status.
func (sh *shell) exec(argv []string) int {
	if len(argv) == 0 {
		return 0
	}
	name := argv[0][strings.LastIndexByte(argv[0], '/')+1:]
	if isShell(name) {
		if sh.depth == maxDepth {
			sh.fail(errFork)
			return sh.last
		}
		for i, a := range argv[1:] {
			if strings.HasPrefix(a, "-") && strings.HasSuffix(a, "c") && i+2 < len(argv) {
				child := *sh
				child.exited, child.depth, child.funcs = false, sh.depth+1, map[string]*function{}
				child.params = argv[min(i+4, len(argv)):] // the first is $0
				return child.script(argv[i+2])
			}
		}
		child := *sh // its input is the script
		child.exited, child.depth = false, sh.depth+1
		if child.term != nil {
			return child.interact()
		}
		return child.script(sh.in.rest(sh.t))
	}
	if f := sh.funcs[argv[0]]; f != nil {
		return sh.call(f, argv[1:])
	}
	if fn := builtins[name]; fn != nil {
		return fn(sh, argv[1:])
	}
	if sh.c.lacks(argv[0]) || !sh.assumed(argv[0]) {
		fmt.Fprintf(sh.err, "sh: %s: not found\n", argv[0])
		return 127
	}
	return 0
}
