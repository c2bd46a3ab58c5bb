package verbs

import (
	"context"

	"kviz/cluster/control"
	"kviz/cluster/trace"
)

// Cluster is what the kviz verbs drive.
type Cluster struct {
	Trace       *trace.Stream
	Clock       Clock
	Faults      Faults
	Breakpoints Breakpoints // nil: there are none
	Members     MemberReader
	Endpoints   func() control.Endpoints // how other programs reach the cluster
	Loads       Loads                    // nil: no kviz load
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

// Condition is an expression that was compiled.
type Condition struct {
	// Holds reports whether it holds now; it is called on the kernel's
	// goroutine, after the newest event has been folded.
	Holds func() (bool, error)

	// Members is whether it asks about a store that has members, which elect and
	// replicate by the machine's clock.
	Members bool
}
