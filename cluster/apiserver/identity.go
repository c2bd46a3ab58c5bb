package apiserver

import (
	"fmt"
	"math/rand/v2"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// identity is who a server is among those of its cluster; the first has no name.
type identity struct {
	k      *sim.Kernel
	name   string
	before int // servers that had the name and were removed
}

// Name is the server's as faults name it: "apiserver", "apiserver/b".
func (i *identity) Name() string { return i.named(trace.CompAPIServer) }

// Machine is the name of the machine that the server runs on.
func (i *identity) Machine() string {
	if i.name == "" {
		return "control-plane"
	}
	return "control-plane-" + i.name
}

// traced is what the trace has for the server in events of other lanes: nothing for
// the first.
func (i *identity) traced() string {
	if i.name == "" {
		return ""
	}
	return i.Name()
}

// named is the name of something of the server's own.
func (i *identity) named(what string) string {
	if i.name == "" {
		return what
	}
	return what + "/" + i.name
}

// stream is a stream of random numbers of the server's own.
func (i *identity) stream(what string) *rand.Rand { return i.k.Rand(i.streamName(what)) }

// streamAt is another one, of a server that begins on a store at a revision.
func (i *identity) streamAt(what string, revision int64) *rand.Rand {
	return i.k.Rand(fmt.Sprintf("%s@%d", i.streamName(what), revision))
}

func (i *identity) streamName(what string) string {
	if i.before == 0 {
		return i.named(what)
	}
	return fmt.Sprintf("%s#%d", i.named(what), i.before)
}
