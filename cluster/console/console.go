// Package console is the shell in which a person, a lesson or a script drives
// a cluster: pipes, variables and loops of a POSIX-like shell, kubectl (its
// real code, embedded), the nodes' own tools, and kviz verbs.
//
//	kubectl apply -f manifests/hello.yaml
//	on node-1 iptables-save | grep KUBE-SVC | wc -l
//	kviz fault stop member/b
//	kviz wait --timeout 60s 'object("deployments", "demo", "hello-deploy").status.readyReplicas == 2'
//
// Kubernetes has no such thing; the nearest is a terminal on an admin's laptop.
// What differs from one: no other program is ever run, and the console stands
// inside virtual time. While a command computes, time stands still; it moves
// only while one of the command's requests is served, or while a command that
// waits waits. So a script leaves the same trace every time. DESIGN.md tells
// how that works with kubectl, which knows nothing of it.
//
// Start reading at [Console.Exec], then kubectl.go.
package console

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"sort"
	"sync"

	"mvdan.cc/sh/v3/expand"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/console/etcdtool"
	"kviz/cluster/console/tools"
	"kviz/cluster/control"
	"kviz/cluster/serve"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.TheConsole, How: simulated.Simplified,
	What: "the console runs no other programs than kubectl, etcdctl and etcdutl; attach, cp, debug, port-forward and proxy of kubectl are refused",
	Seen: "their refusals",
})

var _ = simulated.Say(simulated.Statement{
	Area: simulated.TheConsole, How: simulated.Simplified,
	What: "kubectl logs -f of several containers asks for their logs again every second",
})

// Cluster is what the kviz verbs drive.
type Cluster struct {
	Trace       *trace.Stream
	Clock       Clock
	Faults      Faults
	Breakpoints Breakpoints // nil: there are none
	Members     MemberReader
	Endpoints   func() control.Endpoints // how other programs reach the cluster
}

// Clock is a cluster's clock.
type Clock interface {
	Clock() control.Clock
	Pause() error
	Resume() error
	Step(trace.Grain) error
	Speed(x float64) error
	SkipIdle() error
}

// Faults is what can be done to what, and does it.
type Faults interface {
	Faults() []control.FaultKind
	Targets() []string
	Fault(context.Context, control.Fault) error
}

// Nodes runs the tools of a node (iptables-save, crictl, curl). Its methods are
// called on the kernel's goroutine and take no virtual time; a tool that does gives what
// is to be run as a task.
type Nodes interface {
	Names() []string
	Run(node string, argv []string, stdin []byte, out, errOut io.Writer) (exit int, wait func(*sim.Task) int)
}

// Condition reports whether an expression holds now; it is called on the
// kernel's goroutine, after the newest event has been folded.
type Condition func() (bool, error)

// Config is what a console is made of.
type Config struct {
	Kernel *sim.Kernel
	API    *serve.Handler
	// Server is the edge of one of several API servers, by its name or address: kubectl
	// --server. Nil: there is only API.
	Server func(name string) (*serve.Handler, error)
	// Cluster is behind the kviz verbs; nil leaves out those that need it.
	Cluster *Cluster
	Nodes   Nodes // nil: no "on" for them
	Etcd    Etcd  // nil: no etcdctl
	// ControlPlane is where the API server runs; nil: no kviz apiserver.
	ControlPlane *ControlPlane
	// Compile makes a condition of an expression, for until and wait. Its error
	// names the place and the known names.
	Compile func(expr string) (Condition, error)
	// Value is an expression's value as text, for print. It is called on the kernel's
	// goroutine.
	Value func(expr string) (string, error)
	// Manifests are files that -f finds when there is no such file on the disk.
	Manifests fs.FS
	// Docs are the pages of kviz help TOPIC.
	Docs fs.FS
	User authn.User // who kubectl is; zero means authn.Admin()
}

// Console runs commands against one cluster.
type Console struct {
	cfg     Config
	process *sim.Process // whose tasks the commands' requests are

	mu       sync.Mutex
	commands map[string]Command
	session  *Session // variables that live from line to line
	cache    string   // directory, "" before it is needed
	ns       string   // the namespace of kubectl config set-context --current
	etcd     *etcdGate
	dir      string // where its own session stands, and others begin; "" before the first line
	moved    bool   // by Stand: its own session has still to go there
}

// Command is a command of the console. It gives the exit status.
type Command func(ctx context.Context, inv *Invocation) int

// Invocation is one use of a command.
type Invocation struct {
	Console *Console
	Args    []string // Args[0] is the command
	Dir     string
	In      io.Reader
	Out     io.Writer
	Err     io.Writer
	// Piped says that In is a pipe or a file, not the person's keys.
	Piped   bool
	Script  bool     // nobody is at the keys: what never ends must be refused
	Source  string   // "console" or "file:line"
	Cause   trace.ID // the command in the trace
	Columns int

	server  string       // the API server that the verb is about, by its name; "" is the first
	machine Machine      // whose files, and no others, the command reads; see onMachine
	lend    control.Lend // nil: there is no terminal
	env     expand.Environ
	untold  bool // what it prints is not the same in every run, and stays out of the trace
}

// New makes a console with the commands kubectl, on, kviz and timeout. The
// kernel need not run yet.
func New(cfg Config) *Console {
	if cfg.User.Name == "" {
		cfg.User = authn.Admin()
	}
	c := &Console{cfg: cfg, commands: map[string]Command{}}
	c.process = cfg.Kernel.NewProcess(trace.Lane{Component: trace.CompConsole})
	c.Register("kubectl", kubectl)
	c.Register("k", kubectl)
	c.Register("sleep", sleep)
	c.Register("date", date)
	c.Register("timeout", timeout)
	if cfg.Nodes != nil || cfg.ControlPlane != nil {
		c.Register("on", on)
	}
	if cfg.Etcd != nil {
		c.Register(etcdtool.Etcdctl, etcdctl)
	}
	c.Register(etcdtool.Etcdutl, etcdutl)
	c.Register("kviz", kviz)
	return c
}

// Register adds a command, or replaces one.
func (c *Console) Register(name string, run Command) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.commands[name] = run
}

// Commands lists the console's commands and its text tools, sorted.
func (c *Console) Commands() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for n := range c.commands {
		names = append(names, n)
	}
	names = append(names, tools.Names()...)
	sort.Strings(names)
	return names
}

func (c *Console) command(name string) Command {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.commands[name]
}

// Exec runs one line (or several) typed at the console and gives the exit
// status. Variables live on to the next line; a line that is run while another
// still runs gets a shell of its own, which begins where the console stands.
//
// A line that is put behind ([control.Streams].Behind) keeps what it changes to itself,
// as a shell's jobs do: the next line finds variables, functions and folder as they were
// before it.
func (c *Console) Exec(ctx context.Context, line string, io control.Streams) int {
	s, own, dir := c.shell(io.Behind)
	defer s.busy.Unlock()
	exit := s.exec(ctx, dir, line, io)
	if own && s.runner != nil {
		c.mu.Lock()
		if !c.moved && c.session == s {
			c.dir = s.runner.Dir
		}
		c.mu.Unlock()
	}
	return exit
}

// shell gives the session that a line runs in, busy, whether it is the console's own,
// and the folder that it has still to go to.
func (c *Console) shell(behind <-chan struct{}) (s *Session, own bool, dir string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil {
		c.session = c.NewSession()
	}
	s = c.session
	fresh := false // it has not been where the console stands
	if own = s.busy.TryLock(); !own && closed(s.behind) {
		c.session, fresh = s.before, true
		s = c.session
		own = s.busy.TryLock() // nobody else knows it
	}
	switch {
	case !own:
		s, fresh = c.NewSession(), true
		s.busy.Lock()
	case closed(behind):
		free := s
		s, own, fresh = free.copy(), false, true
		free.busy.Unlock()
		s.busy.Lock()
	case behind != nil:
		s.before = s.copy()
	}
	s.behind = behind
	if fresh || c.moved {
		dir = c.dir
	}
	c.moved = c.moved && !own
	return s, own, dir
}

// closed reports whether ch is; a nil channel is not.
func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// Stand has the console's own session stand in a folder from its next line on, and
// gives where it stood. It waits for nothing: a command that runs goes on where it
// is.
func (c *Console) Stand(dir string) (before string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before = c.dir; before == "" {
		before, _ = os.Getwd() // where a shell begins; without one, it says so itself
	}
	c.dir, c.moved = dir, true
	return before
}

// ErrStopped is what commands fail with when the cluster has gone.
var ErrStopped = errors.New("the cluster has stopped")
