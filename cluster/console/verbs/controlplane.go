package verbs

import (
	"context"
	"errors"
	"time"

	"kviz/cluster/apiserver/audit"
	"kviz/cluster/apiserver/configfile"
	"kviz/cluster/apiserver/encrypt"
	"kviz/cluster/apiserver/fairness"
	"kviz/cluster/idp"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// ControlPlane is what an administrator does on the control plane's machines. All methods
// are called on the kernel's goroutine, most as part of a task.
type ControlPlane struct {
	Servers   Servers
	Authority Authority
	Provider  IdentityProvider
	Pollers   Pollers
	Nodes     Joiner
	Scheduler SchedulerConfig
}

// SchedulerConfig is the configuration of kube-scheduler, and what is done by hand in place of its
// Permit plugins.
type SchedulerConfig interface {
	// Configure replaces the file, or removes it if it is nil, and restarts the scheduler, because
	// of an event. A file that the scheduler could not start with is refused. It is not called as
	// part of a task.
	Configure(file []byte, cause trace.ID) error
	// Configured is what the scheduler is started with, and whether it runs; an error in a cluster
	// that has none.
	Configured() (told *trace.SchedConfiguration, up bool, err error)
	// Permit allows or rejects a pod that waits at Permit, by its namespace/name, because of an
	// event. It is not called as part of a task.
	Permit(pod string, allow bool, cause trace.ID) error
}

// Servers are the API servers.
type Servers interface {
	// List gives them in the order in which they were started.
	List() []Server
	// Add starts another API server on the same store, behind a load balancer.
	Add(t *sim.Task) error
	// Remove takes one out for good, by its name; not the first.
	Remove(t *sim.Task, name string) error
	// At is one of them and its machine, by its name. "" is the first one's; requests are
	// then dealt out to all.
	At(name string) (APIServer, error)
}

// Server is an API server as the control plane's administrator sees it.
type Server struct {
	Name, Address string
	Machine       string // that it runs on: "control-plane", "control-plane-b"
	Ready         bool   // what its /readyz says
	Balanced      bool   // a load balancer stands before it
	Up            bool   // the load balancer gives it connections
	Connections   int    // of clients, by way of the balancer
}

// APIServer is one API server: the files and flags of its machine, what it serves at once,
// and how it reaches the store.
type APIServer struct {
	Name       string // as faults name it
	Encryption EncryptionConfig
	Audit      AuditPolicy
	Config     ConfigFiles
	Machine    Machine
	Requests   Requests
	Etcd       EtcdServers
}

// EncryptionConfig is the configuration of encryption at rest.
type EncryptionConfig interface {
	// Write replaces the file; nil removes it. A file that the API server could not start
	// with is refused.
	Write(t *sim.Task, file []byte) error
	// Reload is --encryption-provider-config-automatic-reload.
	Reload(on bool)
	State() encrypt.State
}

// AuditPolicy is the audit policy.
type AuditPolicy interface {
	// Write replaces the file; nil removes it. A file that the API server could not start
	// with is refused.
	Write(t *sim.Task, file []byte) error
	State() audit.State
}

// ConfigFiles are an API server's other files: "admission", "tokens", "authentication",
// "token-webhook", "authorization".
type ConfigFiles interface {
	// Write replaces one; nil removes it. A file that the API server could not start with
	// is refused.
	Write(t *sim.Task, name string, file []byte) error
	State(name string) configfile.State
}

// Machine is what a machine has on its disk.
type Machine interface {
	ReadFile(name string) ([]byte, error)
	Files() []string
}

// Requests are what an API server serves at once.
type Requests interface {
	// SetConcurrency sets how many requests that is.
	SetConcurrency(t *sim.Task, total int) error
	Concurrency() (total int, levels []fairness.State)
	// Storm has n clients of a user list pods at once, and tells how many were
	// answered, and how many turned down.
	Storm(t *sim.Task, user string, n int) (answered, rejected int)
}

// EtcdServers are kube-apiserver's --etcd-servers.
type EtcdServers interface {
	// Set has the API server's etcd client go through these members of the
	// store, one at a time; none: through the store as a whole.
	Set(t *sim.Task, members []string) error
	// State gives those it was given, and the one it uses.
	State() (all []string, used string)
}

// Authority is the cluster's certificate authority.
type Authority interface {
	// Issue signs a client certificate of a user, and gives it and its key in PEM.
	Issue(t *sim.Task, user string, groups []string, ttl time.Duration) (cert, key []byte, err error)
	// Request makes a key, and a certificate request signed with it.
	Request(user string, groups []string) (request, key []byte, err error)
}

// IdentityProvider is the simulated identity provider.
type IdentityProvider interface {
	// Login logs somebody in and gives a token.
	Login(t *sim.Task, l idp.Login) (token string, err error)
	State() idp.State
}

// Pollers are clients that list again and again instead of watching.
type Pollers interface {
	// Set has so many clients list a resource every so often, in place of those that do;
	// 0 ends them.
	Set(t *sim.Task, count int, resource string, every time.Duration) error
}

// Joiner powers on machines.
type Joiner interface {
	// Join powers on another machine, which becomes a node: with the certificate
	// that it asks for as the bearer of a bootstrap token, or, without a token, with one
	// that it brings.
	Join(t *sim.Task, token string) (name string, err error)
}

// errNoPlane is what a console says that is connected to no cluster's machines.
var errNoPlane = errors.New("this console has no control plane")

// errTold ends a verb that has said itself what is wrong.
var errTold = errors.New("told")

// administer has an administrator do something as a task, with the command as its cause.
func (inv *use) administer(ctx context.Context, what string, do func(t *sim.Task, plane *ControlPlane) error) error {
	plane := inv.cfg.ControlPlane
	if plane == nil {
		return errNoPlane
	}
	if !inv.MayWait() {
		return errTold
	}
	var err error
	if callErr := inv.Task(ctx, what, func(t *sim.Task) { err = do(t, plane) }); callErr != nil {
		return callErr
	}
	return err
}

// onServer is administer for the API server that a verb is about: the first, or the one
// that --server names.
func (inv *use) onServer(ctx context.Context, what string, do func(t *sim.Task, s APIServer) error) error {
	return inv.administer(ctx, what, func(t *sim.Task, plane *ControlPlane) error {
		s, err := plane.Servers.At(inv.server)
		if err != nil {
			return err
		}
		return do(t, s)
	})
}
