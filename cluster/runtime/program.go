package runtime

import (
	"io"
	"io/fs"
	"slices"
	"syscall"
	"time"

	"kviz/cluster/client"
	"kviz/cluster/remote"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Program is a server that runs in a container and is more than a port that answers:
// it has tasks of its own, in the container's process, and answers HTTPS requests. An
// error is that of a connection that broke.
type Program interface {
	Serve(t *sim.Task, r *remote.Request) (remote.Answer, error)
}

// Insecure is a program that speaks HTTP, where others speak HTTPS.
type Insecure interface{ Insecure() }

// Instance is the container that a program runs in.
type Instance struct {
	Process *sim.Process // dies with the container
	Node    string
	Pod     string   // namespace/name
	Host    string   // the pod's host name
	Command []string // with its arguments
	API     client.Interface
	Log     func(line string)
	// Dial opens a connection from the pod to a port of an address, or of a name of cluster DNS.
	// An error is that of Go's dialer.
	Dial func(t *sim.Task, host string, port int) (remote.Connection, error)
	// Use adds to what the container uses, in nanocores and bytes, for a while.
	Use func(cpu, memory int64, d time.Duration)
	// Read gives a file of the container, as os.ReadFile does.
	Read func(path string) ([]byte, error)
	// Exit ends the container with an exit status, because of events. A program calls it in one of
	// its tasks, not while it is being started.
	Exit func(code int32, causes ...trace.ID)
}

// StartProgram begins a program.
type StartProgram func(Instance) Program

// SetProgram says what runs in containers of an image, named without its tag; of agnhost, whose
// first argument says what it is, that stands behind it.
func (r *Runtime) SetProgram(repository string, start StartProgram) {
	if r.programs == nil {
		r.programs = map[string]StartProgram{}
	}
	r.programs[repository] = start
}

// programOf is what runs in a container, nil for an image without a program.
func (r *Runtime) programOf(c *Container) StartProgram {
	repo := c.repository()
	if repo == agnhost {
		return r.programs[repo+" "+subcommand(slices.Concat(c.Command, c.Args))]
	}
	return r.programs[repo]
}

// startProgram runs a container's program as a process of its own, whose lane is the
// pod's: it is somebody's program and no part of the runtime.
func (r *Runtime) startProgram(t *sim.Task, c *Container, s *Sandbox) {
	c.run.process = r.newProcess(trace.Lane{Component: trace.CompPod, Instance: s.key()}, c)
	c.run.process.Begin(c.StartedBy)
	run := c.run
	in := Instance{
		Process: c.run.process, Node: r.cfg.Node, Pod: s.key(), Host: s.Hostname, Command: slices.Concat(c.Command, c.Args),
		Log: func(line string) { c.log.write(r.k.Now(), line+"\n", true) },
		Dial: func(t *sim.Task, host string, port int) (remote.Connection, error) {
			if r.dialer == nil {
				return nil, &remote.DialError{Reason: "network is unreachable"}
			}
			return r.dialer.Connect(t, r.cfg.Node, s.key(), host, port)
		},
		Use: func(cpu, memory int64, d time.Duration) { run.use(cpu, memory, r.k.Now(), d) },
		Read: func(path string) ([]byte, error) {
			text, there := run.disk.read(path)
			if !there {
				return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.ENOENT}
			}
			return []byte(text), nil
		},
		Exit: func(code int32, causes ...trace.ID) {
			if c.run == run {
				r.end(c, code, reasonOf(code), "", causes, false)
			}
		},
	}
	if r.api != nil {
		in.API = r.api(s.Namespace, s.ServiceAccount, s.key())
	}
	if broken := t.HandleCrash(func() { c.run.program = r.programOf(c)(in) }); broken != nil {
		r.crashed(c, c.run, broken)
	}
}

// newProcess is a process of a container's own. A panic in it ends the container, as one ends a program
// written in Go: its words are in the log, and its exit status is 2.
func (r *Runtime) newProcess(lane trace.Lane, c *Container) *sim.Process {
	p, run := r.k.NewProcess(lane), c.run
	p.OnCrash(func(broken *sim.PanicError) { r.crashed(c, run, broken) })
	return p
}

// crashed ends a container at a panic of its program, unless it has ended meanwhile.
func (r *Runtime) crashed(c *Container, run *running, broken *sim.PanicError) {
	if c.run != run {
		return
	}
	s := r.sandboxes[c.SandboxID]
	c.log.write(r.k.Now(), broken.Brief()+"\n", true)
	why := r.k.Emit(trace.Event{
		Lane: r.lane, Kind: trace.ProcessPanic, Object: podRef(s.key()), Causes: []trace.ID{c.StartedBy},
		Payload: &trace.Panicked{Process: r.lane.String(), Doing: "container " + c.Name + " of the pod", Panic: broken.Brief()},
	})
	r.end(c, crashStatus, reasonOf(crashStatus), "", []trace.ID{why}, false)
}

// crashStatus is the exit status of a Go program that panics.
const crashStatus = 2

// serveTime is how long a program takes for a request.
const serveTime = 2 * time.Millisecond

// live is a program as it runs in a container now.
type live struct {
	r   *Runtime
	c   *Container
	run *running
}

// Serve has the program answer, unless its container ends meanwhile.
func (l live) Serve(t *sim.Task, r *remote.Request) (remote.Answer, error) {
	t.Sleep(serveTime)
	if l.c.run != l.run {
		return remote.Answer{}, io.EOF
	}
	var answer remote.Answer
	var err error
	pod := podRef(l.r.sandboxes[l.c.SandboxID].key())
	if broken := t.HandleCrashOn(pod, "an answer of the pod's program", func() { answer, err = l.run.program.Serve(t, r) }); broken != nil {
		// The connection breaks, and the server goes on (net/http conn.serve).
		l.c.log.write(t.Now(), "http: panic serving: "+broken.Brief()+"\n", true)
		return remote.Answer{}, io.EOF
	}
	return answer, err
}
