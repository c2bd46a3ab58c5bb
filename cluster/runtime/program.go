package runtime

import (
	"io"
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

// Instance is the container that a program runs in.
type Instance struct {
	Process *sim.Process // dies with the container
	Node    string
	Pod     string // namespace/name
	API     client.Interface
	Log     func(line string)
}

// StartProgram begins a program.
type StartProgram func(Instance) Program

// SetProgram says what runs in containers of an image, named without its tag.
func (r *Runtime) SetProgram(repository string, start StartProgram) {
	if r.programs == nil {
		r.programs = map[string]StartProgram{}
	}
	r.programs[repository] = start
}

// startProgram runs a container's program as a process of its own, whose lane is the
// pod's: it is somebody's program and no part of the runtime.
func (r *Runtime) startProgram(c *Container, s *Sandbox) {
	c.run.process = r.k.NewProcess(trace.Lane{Component: trace.CompPod, Instance: s.key()})
	c.run.process.Begin(c.StartedBy)
	in := Instance{
		Process: c.run.process, Node: r.cfg.Node, Pod: s.key(),
		Log: func(line string) { c.log.write(r.k.Now(), line+"\n", true) },
	}
	if r.api != nil {
		in.API = r.api(s.Namespace, s.ServiceAccount, s.key())
	}
	c.run.program = r.programs[c.repository()](in)
}

// serveTime is how long a program takes for a request.
const serveTime = 2 * time.Millisecond

// live is a program as it runs in a container now.
type live struct {
	c   *Container
	run *running
}

// Serve has the program answer, unless its container ends meanwhile.
func (l live) Serve(t *sim.Task, r *remote.Request) (remote.Answer, error) {
	t.Sleep(serveTime)
	if l.c.run != l.run {
		return remote.Answer{}, io.EOF
	}
	return l.run.program.Serve(t, r)
}
