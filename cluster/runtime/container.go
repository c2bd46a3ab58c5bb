package runtime

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"kviz/cluster/images"
	"kviz/cluster/registry"
	"kviz/cluster/sim"
	"kviz/cluster/stdio"
	"kviz/cluster/trace"
)

// State is a container's state in the CRI.
type State uint8

// The states.
const (
	Created State = iota
	Running
	Exited
)

// File is a file of a volume.
type File struct{ Volume, Path string }

// ContainerConfig is what the kubelet asks a container to be.
type ContainerConfig struct {
	Name      string
	Image     string
	Command   []string
	Args      []string
	Env       map[string]string
	Ports     []int // declared container ports
	Mounts    []Mount
	OnRead    map[string]File // what volumes hold that is filled when it is read, by path
	Attempt   int32           // how often it was started before
	Init      bool
	Finishes  bool   // it is there to do something and end, as an init container is; see Behaviour
	NonRoot   bool   // it must not run as root, and the image's user decides
	Hash      string // of the container's spec: another one asks for a restart
	Behaviour string // the annotation, if any
	// Stdin is open to be attached to, StdinOnce until the first who was leaves; TTY
	// makes a terminal of the standard streams.
	Stdin, StdinOnce, TTY bool
	// MessagePath is where the container may leave its last words.
	MessagePath string
	LogTail     bool // terminationMessagePolicy FallbackToLogsOnError
	// GraceSeconds is kept for a kubelet that finds the container without its
	// pod.
	GraceSeconds int64
	// What it asks for and may use, for what it is said to use: CPU in millicores,
	// memory in bytes; 0 where the pod does not say.
	RequestsCPU, RequestsMemory, LimitsCPU, LimitsMemory int64
}

func (c *ContainerConfig) repository() string {
	repository, _ := c.reference()
	return repository
}

// reference is the image's repository in full, and its tag.
func (c *ContainerConfig) reference() (repository, tag string) {
	full, err := registry.Normalize(c.Image)
	if err != nil {
		return c.Image, ""
	}
	return images.Split(full)
}

// Container is a container of a pod.
type Container struct {
	ID        string
	PodUID    string
	SandboxID string
	ImageRef  string
	ContainerConfig
	State      State
	CreatedAt  time.Time
	StartedAt  time.Time
	FinishedAt time.Time
	ExitCode   int32
	Reason     string // Completed, Error, OOMKilled
	Message    string

	StartedBy trace.ID // the event of its start
	EndedBy   trace.ID

	run *running
	log *log
}

// running is what a container has while it runs.
type running struct {
	b       Behaviour
	exit    *sim.Timer
	process *sim.Process // of a script or a program
	program Program      // of an image that has one; else nil
	uses    []use        // of the program, beside what the container uses by itself
	disk    *disk
	serves  []int
	trap    string // what a script does on TERM
	funcs   map[string]*function
	meter   meter           // what its shells, and those of exec, use
	in      *stdio.Input    // its standard input; at its end from the beginning where it is not open
	term    *stdio.Terminal // of one that has a terminal; else nil
	ended   sim.Cond
	news    sim.Cond // it has ended, or somebody who was attached has left
}

// CreateContainer is the CRI call.
func (r *Runtime) CreateContainer(t *sim.Task, sandboxID string, cfg ContainerConfig) (string, error) {
	s := r.sandboxes[sandboxID]
	if s == nil {
		return "", &Error{Code: "NotFound", Desc: fmt.Sprintf("failed to find sandbox id %q: not found", short(sandboxID))}
	}
	var c *Container
	assumed := cfg.Assume()
	_, err := r.call(t, trace.RuntimeCall{Pod: s.key(), Container: cfg.Name, Call: "CreateContainer", Arg: cfg.Image, Assumed: assumed.String()}, createTime, func() (string, error) {
		ref, err := r.ImageRef(cfg.Image)
		if err != nil || ref == "" {
			return "", &Error{Code: "NotFound", Desc: fmt.Sprintf("failed to resolve image %q: not found", cfg.Image)}
		}
		c = &Container{ID: r.newID(), PodUID: s.PodUID, SandboxID: s.ID, ImageRef: ref, ContainerConfig: cfg, CreatedAt: t.Now(), log: &log{}}
		r.containers[c.ID] = c
		p := r.pod(s.PodUID)
		p.containers = append(p.containers, c)
		return short(c.ID), nil
	})
	if err != nil {
		return "", err
	}
	return c.ID, nil
}

// StartContainer is the CRI call: the container's process begins.
func (r *Runtime) StartContainer(t *sim.Task, id string) error {
	c, s, err := r.find(id)
	if err != nil {
		return err
	}
	call, err := r.call(t, trace.RuntimeCall{Pod: s.key(), Container: c.Name, Call: "StartContainer", Arg: short(id)}, startTime, func() (string, error) {
		b := behaviourOf(&c.ContainerConfig)
		if why := refuse(slices.Concat(c.Command, c.Args), c.Env); why != "" {
			b.Broken = "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: " + why
		}
		if b.Broken != "" {
			c.State, c.ExitCode, c.Reason, c.Message = Exited, 128, "StartError", b.Broken
			c.StartedAt, c.FinishedAt = time.Unix(0, 0).UTC(), t.Now()
			return "", &Error{Code: "Unknown", Desc: b.Broken}
		}
		c.run = &running{b: b, serves: b.Serve, disk: r.newDisk(c, s)}
		c.State, c.StartedAt = Running, t.Now()
		r.openStreams(c)
		return "", nil
	})
	if err != nil {
		r.notify(c.PodUID, call)
		return err
	}
	c.StartedBy = t.Emit(trace.Event{
		Kind: trace.ContainerChange, Lane: r.lane, Object: podRef(s.key()), Causes: []trace.ID{call},
		Payload: &trace.ContainerState{Node: r.cfg.Node, Pod: s.key(), Container: c.Name, State: "running", Restarts: c.Attempt, Init: c.Init},
	})
	t.SetCauses(c.StartedBy)
	if c.State == Running { // it may have been killed while the cluster stood
		r.begin(t, c, s)
	}
	r.notify(c.PodUID, c.StartedBy)
	return nil
}

// begin sets a started container's behaviour going.
func (r *Runtime) begin(t *sim.Task, c *Container, s *Sandbox) {
	for _, line := range c.run.b.Say {
		c.log.write(r.k.Now(), line+"\n", false)
	}
	if r.loads != nil {
		r.loads.Started()
	}
	b := &c.run.b
	switch {
	case len(b.Script) > 0:
		r.startScript(c, s)
	case r.programOf(c) != nil:
		r.startProgram(t, c, s)
	case b.Exits:
		c.run.exit = r.k.After(b.After, func() {
			switch {
			case b.OOM:
				r.end(c, 137, "OOMKilled", "", []trace.ID{c.StartedBy}, false)
			default:
				r.end(c, b.ExitCode, reasonOf(b.ExitCode), "", []trace.ID{c.StartedBy}, false)
			}
		})
	}
}

func reasonOf(code int32) string {
	if code == 0 {
		return "Completed"
	}
	return "Error"
}

// end is a container's end: by itself, by a signal, or with its node (quiet,
// nobody is notified).
func (r *Runtime) end(c *Container, code int32, reason, message string, causes []trace.ID, quiet bool) {
	if c.State != Running {
		return
	}
	run := c.run
	if run.exit != nil {
		run.exit.Cancel()
	}
	c.State, c.ExitCode, c.Reason, c.FinishedAt = Exited, code, reason, r.k.Now()
	if message == "" {
		message, _ = run.disk.read(c.MessagePath)
		if message == "" && c.LogTail && code != 0 {
			message = c.log.tail(80, 2048)
		}
	}
	c.Message = message
	c.run = nil
	if !quiet {
		s := r.sandboxes[c.SandboxID]
		c.EndedBy = r.k.Emit(trace.Event{
			Kind: trace.ContainerChange, Lane: r.lane, Object: podRef(s.key()), Causes: causes,
			Payload: &trace.ContainerState{Node: r.cfg.Node, Pod: s.key(), Container: c.Name, State: "terminated", Reason: reason, ExitCode: code, Restarts: c.Attempt, Init: c.Init},
		})
		r.notify(c.PodUID, c.EndedBy)
	}
	run.ended.Broadcast()
	run.news.Broadcast()
	c.log.news.Broadcast()
	if run.process != nil {
		run.process.Kill()
	}
}

// StopContainer is the CRI call: TERM, up to grace, then KILL. It returns when
// the container has ended.
func (r *Runtime) StopContainer(t *sim.Task, id string, grace time.Duration) error {
	c, s, err := r.find(id)
	if err != nil {
		return nil // as in the CRI, stopping what is gone is no error
	}
	_, err = r.call(t, trace.RuntimeCall{Pod: s.key(), Container: c.Name, Call: "StopContainer", Arg: fmt.Sprintf("%s grace %s", short(id), grace)}, 0, func() (string, error) {
		if c.State != Running {
			return "", nil
		}
		run := c.run
		causes := append([]trace.ID(nil), t.Causes()...)
		r.signal(c, causes)
		if c.State == Running && grace > 0 {
			run.ended.WaitTimeout(t, grace)
		}
		how := "ended on TERM"
		if c.State == Running && c.run == run {
			how = "KILL"
			r.end(c, 137, "Error", "", causes, false)
		}
		if !c.EndedBy.IsZero() { // zero: its node lost power meanwhile
			t.SetCauses(c.EndedBy)
		}
		return how, nil
	})
	return err
}

// signal is TERM arriving at a container.
func (r *Runtime) signal(c *Container, causes []trace.ID) {
	run := c.run
	if run.trap != "" {
		r.runTrap(c, causes)
		return
	}
	if run.b.IgnoreTerm {
		return
	}
	if run.exit != nil {
		run.exit.Cancel()
	}
	run.exit = r.k.After(run.b.Term, func() {
		if c.run == run {
			r.end(c, run.b.TermCode, reasonOf(run.b.TermCode), "", causes, false)
		}
	})
}

// RemoveContainer is the CRI call.
func (r *Runtime) RemoveContainer(t *sim.Task, id string) error {
	c, s, err := r.find(id)
	if err != nil {
		return nil
	}
	_, err = r.call(t, trace.RuntimeCall{Pod: s.key(), Container: c.Name, Call: "RemoveContainer", Arg: short(id)}, removeTime, func() (string, error) {
		r.forget(c)
		return "", nil
	})
	return err
}

func (r *Runtime) forget(c *Container) {
	if c.State == Running {
		r.end(c, 137, "Error", "", nil, true)
	}
	delete(r.containers, c.ID)
	p := r.pod(c.PodUID)
	for i, o := range p.containers {
		if o == c {
			p.containers = append(p.containers[:i:i], p.containers[i+1:]...)
			break
		}
	}
}

func (r *Runtime) find(id string) (*Container, *Sandbox, error) {
	id = strings.TrimPrefix(id, "containerd://")
	c := r.containers[id]
	if c == nil {
		return nil, nil, &Error{Code: "NotFound", Desc: fmt.Sprintf("an error occurred when try to find container %q: not found", short(id))}
	}
	return c, r.sandboxes[c.SandboxID], nil
}

// Container gives a container by id, with or without "containerd://".
func (r *Runtime) Container(id string) (Container, bool) {
	c, _, err := r.find(id)
	if err != nil {
		return Container{}, false
	}
	return *c, true
}

// Find gives the newest container of a pod by names; an empty container name is
// the first one. ok is false if the pod has no such container here.
func (r *Runtime) Find(namespace, pod, container string) (c Container, ok bool) {
	for _, s := range r.sortedSandboxes() {
		if s.Namespace != namespace || s.Name != pod {
			continue
		}
		for _, o := range r.pod(s.PodUID).containers {
			if o.SandboxID == s.ID && (o.Name == container || container == "" && !o.Init && (!ok || c.Name == o.Name)) {
				c, ok = *o, true
			}
		}
	}
	return c, ok
}

// Runs reports whether a container of a pod runs; an empty name is any.
func (r *Runtime) Runs(namespace, pod, container string) bool {
	for _, c := range r.containers {
		s := r.sandboxes[c.SandboxID]
		if s != nil && s.Namespace == namespace && s.Name == pod && c.State == Running && (container == "" || c.Name == container) {
			return true
		}
	}
	return false
}

// KillContainer ends a running container from outside: a crash, the kernel's
// OOM killer. It reports whether it ran. An empty container name is every
// container of the pod.
func (r *Runtime) KillContainer(namespace, pod, container string, code int32, reason string, causes ...trace.ID) bool {
	hit := false
	ids := make([]string, 0, len(r.containers))
	for id := range r.containers {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	for _, id := range ids {
		c := r.containers[id]
		s := r.sandboxes[c.SandboxID]
		if s != nil && s.Namespace == namespace && s.Name == pod && c.State == Running && (container == "" || c.Name == container) {
			r.end(c, code, reason, "", causes, false)
			hit = true
		}
	}
	return hit
}
