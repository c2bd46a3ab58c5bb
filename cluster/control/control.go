// Package control has the words in which a cluster is driven by the explorer, the
// lessons and the console: plain values only, so that a screen can be built without
// linking a cluster. Kubernetes has nothing of the kind; a debugger does. What each of
// the three needs of a cluster is an interface of its own (tui.Cluster,
// lessons.Cluster, verbs.Cluster of the console). Start reading at [Clock].
package control

import (
	"context"
	"errors"
	"io"
	"time"

	"kviz/cluster/trace"
)

// Clock is the state of the clock.
type Clock struct {
	Paused  bool
	Speed   float64       // 0 is as fast as possible
	Elapsed time.Duration // virtual
	Last    trace.ID
	Waiting int    // requests from outside that wait because the cluster stands
	Why     string // why it stands: "you paused", "until …", "step watch"
	Ended   error  // set when the run ended by a broken invariant
}

// FaultKind is one thing that can be done to targets of one kind.
type FaultKind struct {
	Name    string     // "stop"
	Target  string     // the kind of target: "member", "node", "pod", "kubelet", …
	Heals   string     // the fault that mends it: "start"; "" where it mends itself
	Means   string     // a sentence or two
	Args    string     // how further words are used: "PEER", "DURATION"; "" for none
	Ways    []FaultWay // as a menu offers it; none: it does the same as another one
	Repairs bool       // it makes the target whole, or leaves it whole
	Remedy  bool       // it makes whole what no other fault's end does
}

// FaultWay is one way to use a fault, as a plain sentence.
type FaultWay struct {
	Say  string
	Args []string
	Ask  string // what still has to be typed; "" for nothing
	Peer bool   // one for each other member: "%s" in Say is its name, and it is the first argument
	Link string // the same, said of the link with that member: "%[1]s" is whose fault it is, "%[2]s" the other
}

// Fault is one thing to do to one target.
type Fault struct {
	Name   string
	Target string
	Args   []string
	// Cause is the event that it is a consequence of, such as the console
	// command it was typed as; zero where a person's key is the beginning.
	Cause trace.ID
}

// Word is a word of the console's language, and those that may follow it: a command, its
// subcommands, their subcommands and flags.
type Word struct {
	Name string
	Next []Word
}

// Words are words that nothing is known to follow.
func Words(names ...string) []Word {
	all := make([]Word, len(names))
	for i, n := range names {
		all[i].Name = n
	}
	return all
}

// Streams are a command's standard streams.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Source names where the command was typed: "console", or "file:line".
	Source string
	// Columns is the width of the terminal, 0 if there is none.
	Columns int
	// Lend lends the person's terminal to a program; nil: there is none to lend.
	Lend Lend
	// Within is the only folder of the disk that the line reaches, for it was written by somebody
	// whom the person does not know: it runs in a shell of its own, which begins there, and the
	// terminal is not lent to it. "" is every folder.
	Within string
	// Guard bounds what the line may cost; nil: nothing does. It is kept only where Within is set.
	Guard Guard
	// Behind is closed once the person types on while the line runs: at once for a line
	// that ends in &. The console's shell is then free as it was before the line, which
	// goes on in a shell of its own. Nil: the console's shell waits for the line's end.
	Behind <-chan struct{}
}

// Guard bounds what a line may cost that somebody else wrote. Its methods are called from any goroutine.
type Guard interface {
	// Command is asked before each command of the shell; its error ends the line.
	Command(args []string) error
	// Computes says with 1 that one more shell computes by itself, with -1 that one waits for a command, or has ended.
	Computes(by int)
	// Output bounds what a command prints, to the screen, into a pipe or into a file.
	Output(to io.Writer) io.Writer
	// File is asked before so many more bytes are written to a file of the folder.
	File(bytes int) error
}

// Lend runs a program of the person's own machine, such as the editor that kubectl
// edit asks for, on the person's terminal: argv, in the folder dir. It comes back when
// the program has ended and the terminal is as it was before. The error is nil if the
// program ended with status 0; it wraps exec.ErrNotFound where there is no such
// program, is ctx's when ctx ends, which ends the program too, and wraps ErrNotLent
// where somebody else has the terminal.
type Lend func(ctx context.Context, dir string, argv []string) error

// ErrNotLent is why a program does not get the terminal; the error around it says what
// is in the way, and what to do.
var ErrNotLent = errors.New("the terminal cannot be lent now")

// Endpoints say how other programs reach the cluster; empty where it is not
// served.
type Endpoints struct {
	APIServer  string // https://127.0.0.1:port
	Kubeconfig string // path
	Etcd       string // 127.0.0.1:port, one a member, separated by commas; with https:// where TLS protects them
	EtcdCA     string // paths of what a client of etcd's API needs with TLS
	EtcdCert   string
	EtcdKey    string
	Lent       []string // paths of kubeconfigs for programs that take the places of components
	DataDir    string
}

// ErrRecording is what a recording answers to everything it cannot do.
var ErrRecording = errors.New("this is a recording: it can be watched and searched, not changed (run kviz explore for a live cluster)")
