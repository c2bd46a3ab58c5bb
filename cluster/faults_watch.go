package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"kviz/cluster/control"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// A watch has two halves: the API server's own at the store, one a kind (target
// watch/RESOURCE), and a client's at the API server (informer/CLIENT/RESOURCE).

// slowness is the argument of slow, and nothing of another fault.
func slowness(f control.Fault, want string) (time.Duration, error) {
	if f.Name != "slow" {
		return 0, nil
	}
	return duration(f.Args, 0, want)
}

// noWords refuses what follows the target of a fault that elsewhere takes more.
func noWords(f control.Fault) error {
	if len(f.Args) > 0 && f.Name != "slow" {
		return fmt.Errorf("%s takes no %q: usage: %s %s", f.Name, strings.Join(f.Args, " "), f.Name, f.Target)
	}
	return nil
}

// watchFault is a fault of the API server's watch of one kind at the store.
func (c *Cluster) watchFault(name string, f control.Fault) (action, error) {
	if !slices.Contains(c.etcd.Lines(), name) {
		return nil, c.noTarget(f.Target)
	}
	return half{
		cut: c.etcd.Break, stall: c.etcd.Stall, flow: c.etcd.Flow, slow: c.etcd.SlowLine,
	}.fault(name, f, "slow wants how much longer each revision takes, such as 2s")
}

// informerFault is a fault of the way from the API server to one client's watches
// of one kind.
func (c *Cluster) informerFault(name string, f control.Fault) (action, error) {
	if c.server == nil || !slices.Contains(c.server.Wires(), name) {
		return nil, c.noTarget(f.Target)
	}
	return half{
		cut: c.server.CutWire, stall: c.server.StallWire, flow: c.server.FlowWire, lose: c.server.LoseOnWire, slow: c.server.SlowWire,
	}.fault(name, f, "slow wants how much longer each event takes, such as 2s")
}

// half is one of a watch's two, and what can be done to it by its name.
type half struct {
	cut, stall, flow, lose func(name string, cause trace.ID)
	slow                   func(name string, d time.Duration, cause trace.ID)
}

func (h half) fault(name string, f control.Fault, slowWants string) (action, error) {
	slow, err := slowness(f, slowWants)
	if err = errors.Join(err, noWords(f)); err != nil {
		return nil, err
	}
	return func(causes []trace.ID) error {
		switch f.Name {
		case "cut":
			h.cut(name, causes[0])
		case "stall":
			h.stall(name, causes[0])
		case "drop":
			h.lose(name, causes[0])
		case "heal":
			h.slow(name, 0, causes[0])
			h.flow(name, causes[0])
		case "slow", "fast":
			h.slow(name, slow, causes[0])
		}
		return nil
	}, nil
}

// queueFault is a fault of one of the controllers' work queues: its runs take longer.
func (c *Cluster) queueFault(name string, f control.Fault) (action, error) {
	slow, err := slowness(f, "slow wants how much longer each run takes, such as 200ms")
	if err != nil {
		return nil, err
	}
	if !slices.Contains(c.delays.queues(), name) {
		return nil, c.noTarget(f.Target)
	}
	return func([]trace.ID) error {
		c.delays.slow(name, slow)
		return nil
	}, nil
}

// serverFault is a fault of the API server that does not end it.
func (c *Cluster) serverFault(f control.Fault) (action, error) {
	slow, err := slowness(f, "slow wants how much longer each request takes, such as 500ms")
	if err != nil {
		return nil, err
	}
	s := c.backend(f.Target)
	if s == nil {
		return nil, c.noTarget(f.Target)
	}
	return func([]trace.ID) error {
		if slow == 0 {
			s.Server.StandBefore(nil)
			return nil
		}
		s.Server.StandBefore(func(t *sim.Task) { t.Sleep(slow) })
		return nil
	}, nil
}
