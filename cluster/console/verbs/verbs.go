// Package verbs is the kviz command of the console: it drives the simulation,
// inspects it, breaks it, and does what an administrator would do on the machines of
// the control plane.
//
// Kubernetes has no such command; several verbs stand for its programs (node join for
// kubeadm join, certificate for kubeadm kubeconfig user, restore for etcdutl snapshot
// restore on every member). Simplified: none of those needs a login on a machine, and
// the paths are those of the simulated one.
//
// Start reading at the table (table.go); a verb is a row there and its function,
// in the file of its name.
package verbs

import (
	"errors"
	"fmt"
	"io/fs"

	"kviz/cluster/console/command"
	"kviz/cluster/simulated"
	"kviz/raftstore/host"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.TheConsole, How: simulated.Simulated,
	What: "kviz node join, kviz certificate and kviz restore do what kubeadm and etcdutl do on machines that one has to log in to",
})

// Config is what the verbs ask and drive.
type Config struct {
	// Cluster is behind most verbs; nil leaves out those that need it.
	Cluster *Cluster
	Store   Restorer // nil: no kviz restore
	// ControlPlane is where the API server runs; nil: no kviz apiserver.
	ControlPlane *ControlPlane
	// Compile makes a condition of an expression, for until and wait. Its error
	// names the place and the known names.
	Compile func(expr string) (Condition, error)
	// Value is an expression's value as text, for print. It is called on the kernel's
	// goroutine.
	Value func(expr string) (string, error)
	// Docs are the pages of kviz help TOPIC.
	Docs fs.FS
	// Namespace is where kubectl acts when no -n is given.
	Namespace func() string
}

// Verbs is the command kviz of one console.
type Verbs struct{ cfg Config }

// New makes it.
func New(cfg Config) *Verbs { return &Verbs{cfg: cfg} }

// use is one use of a verb.
type use struct {
	*command.Invocation
	cfg    *Config
	server string // the API server that the verb is about, by its name; "" is the first
}

// did reports the outcome of a verb.
func (inv *use) did(err error) int {
	if host.NobodyReads(err) {
		return 141 // whoever it was for reads no more: as of a program, its end by SIGPIPE says nothing
	}
	if errors.Is(err, errTold) {
		return 1
	}
	if err != nil {
		fmt.Fprintf(inv.Err, "kviz %s: %v\n", inv.Args[1], err)
		return 1
	}
	return 0
}

// badUse tells how the verb is used.
func (inv *use) badUse() int {
	if v, ok := findVerb(inv.Args[1]); ok {
		printUse(inv.Err, v)
	}
	return 2
}
