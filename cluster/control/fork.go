package control

import (
	"time"

	"kviz/cluster/trace"
)

// Fork says where a branch left the run that it comes from.
type Fork struct {
	Parent string   // what that is called: a recording's name
	At     trace.ID // the event after which they differ
	Seed   uint64   // what decides every random choice from there on
	Reseed bool     // that is not the parent's
}

// ForkProgress is how far a run has been run again.
type ForkProgress struct {
	Done, Of uint64        // control-plane events
	Took     time.Duration // so far
	Left     time.Duration // about; before anything is done, by what a usual machine takes
}

// ForkOutlook is what can be said of a fork before it is made.
type ForkOutlook struct {
	Events     uint64        // of the control plane, that are run again
	About      time.Duration // how long that takes, by what a usual machine does
	NotExactly []string      // sentences: what of the run does not come again exactly
}

// OtherLeader says that another member leads a branch than led the run that it comes from; "" is that none does.
func OtherLeader(was, is string) string {
	switch {
	case is == "":
		return "nobody leads, where " + was + " did"
	case was == "":
		return is + " leads, where nobody did"
	}
	return is + " leads, not " + was
}
