// Package console is the shell in which a person, a lesson or a script drives
// a cluster: pipes, variables and loops of a POSIX-like shell, kubectl (its
// real code, embedded), the nodes' own tools, and kviz verbs.
//
//	kubectl apply -f manifests/hello.yaml
//	on node-1 iptables-save | grep KUBE-SVC | wc -l
//	kviz fault stop member/b
//	kviz wait --timeout 60s 'object("deployments", "demo", "hello-deploy").status.readyReplicas == 2'
//
// Kubernetes has no such thing; the nearest is a terminal on an admin's laptop. What
// differs from one: no other program is ever run, and the console stands inside
// virtual time. While a command computes, time stands still; it moves only while one
// of the command's requests is served, or while the command is waiting for something.
// So a script leaves the same trace every time. DESIGN.md explains how that works
// with kubectl, which knows nothing of it.
//
// Its commands are packages of their own: kubectl, etcd (etcdctl and etcdutl), verbs
// (kviz), languages (awk and jq) and tools (cat, grep and the like); package command has what they
// share.
//
// Start reading at [Console.Exec], then [Console.perform], then kubectl.
package console

import (
	"context"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"sort"
	"sync"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/console/command"
	"kviz/cluster/console/etcd"
	"kviz/cluster/console/etcdtool"
	"kviz/cluster/console/kubectl"
	"kviz/cluster/console/languages"
	"kviz/cluster/console/tools"
	"kviz/cluster/console/verbs"
	"kviz/cluster/control"
	"kviz/cluster/serve"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.TheConsole, How: simulated.Simplified,
	What: "the console runs no programs other than kubectl, etcdctl and etcdutl", Seen: "its \"command not found\"",
})

// Nodes runs the tools of a node (iptables-save, crictl, curl). Its methods are
// called on the kernel's goroutine and take no virtual time; a tool that does gives what
// is to be run as a task.
type Nodes interface {
	Names() []string
	Tools() []string
	Run(node string, argv []string, stdin []byte, out, errOut io.Writer) (exit int, wait func(*sim.Task) int)
}

// Config is what a console is made of.
type Config struct {
	Kernel *sim.Kernel
	API    *serve.Handler
	// Server is the edge of one of several API servers, by its name or address: kubectl
	// --server. Nil: there is only API.
	Server func(name string) (*serve.Handler, error)
	Verbs  verbs.Config // of the command kviz; its Namespace is the console's to give
	Nodes  Nodes        // nil: no "on" for them
	Etcd   etcd.Store   // nil: no etcdctl
	// Manifests are files that -f finds when there is no such file on the disk.
	Manifests fs.FS
	User      authn.User // who kubectl is
}

// Console runs commands against one cluster.
type Console struct {
	cfg     Config
	kernel  *command.Kernel
	kubectl *kubectl.Kubectl
	etcd    *etcd.Clients

	mu       sync.Mutex
	commands map[string]command.Func
	session  *Session // variables that live from line to line
	dir      string   // where its own session stands, and others begin; "" before the first line
	moved    bool     // by Stand: its own session has still to go there
	again    repeated // kernel's goroutine
}

// New makes a console with the commands kubectl, on, kviz and timeout. The
// kernel need not run yet.
func New(cfg Config) *Console {
	c := &Console{cfg: cfg, commands: map[string]command.Func{}}
	c.kernel = &command.Kernel{Kernel: cfg.Kernel, Process: cfg.Kernel.NewProcess(trace.Lane{Component: trace.CompConsole})}
	c.kubectl = kubectl.New(c.kubectlConfig())
	c.Register("kubectl", c.kubectl.Run)
	c.Register("k", c.kubectl.Run)
	c.Register("sleep", sleep)
	c.Register("timeout", c.timeout)
	if cfg.Nodes != nil || cfg.Verbs.ControlPlane != nil {
		c.Register("on", c.on)
	}
	if cfg.Etcd != nil {
		c.etcd = etcd.New(cfg.Etcd)
		c.Register(etcdtool.Etcdctl, c.etcd.Ctl)
	}
	c.Register(etcdtool.Etcdutl, etcd.Utl)
	cfg.Verbs.Namespace = c.kubectl.Namespace
	c.Register("kviz", verbs.New(cfg.Verbs).Run)
	return c
}

func (c *Console) kubectlConfig() kubectl.Config {
	k := kubectl.Config{API: c.cfg.API.Transport(), Manifests: c.cfg.Manifests, User: c.cfg.User}
	if server := c.cfg.Server; server != nil {
		k.Server = func(name string) (http.RoundTripper, error) {
			api, err := server(name)
			if err != nil {
				return nil, err
			}
			return api.Transport(), nil
		}
	}
	return k
}

// Close removes the console's temporary files.
func (c *Console) Close() error { return c.kubectl.Close() }

// CloseEtcd ends what etcdctl needed. It comes before the store's own end.
func (c *Console) CloseEtcd() error {
	if c.etcd == nil {
		return nil
	}
	return c.etcd.Close()
}

// Register adds a command, or replaces one.
func (c *Console) Register(name string, run command.Func) {
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
	names = append(append(names, tools.Names()...), languages.Names()...)
	for n := range ofShell {
		names = append(names, n)
	}
	sort.Strings(names)
	return slices.Compact(names)
}

func (c *Console) command(name string) command.Func {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.commands[name]
}

// Exec runs one line (or several) typed at the console and returns the exit status.
// Variables persist to the next line; a line that is run while another is still
// running gets a shell of its own, which starts in the console's current folder.
//
// A line that is put behind ([control.Streams].Behind) keeps what it changes to itself,
// as a shell's jobs do: the next line finds variables, functions and folder as they were
// before it.
func (c *Console) Exec(ctx context.Context, line string, io control.Streams) int {
	if io.Within != "" {
		return c.execWithin(ctx, line, io)
	}
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

// Stand sets the current folder of the console's own session from its next line on,
// and returns the previous one. It does not wait: a running command keeps its folder.
func (c *Console) Stand(dir string) (before string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before = c.dir; before == "" {
		before, _ = os.Getwd() // where a shell begins; without one, it says so itself
	}
	c.dir, c.moved = dir, true
	return before
}
