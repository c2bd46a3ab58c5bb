package tuitest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// Cluster plays a tape: a step moves to the next event of the grain, resume lets it
// run with [Cluster.Play]. It records what was asked of it.
type Cluster struct {
	mu    sync.Mutex
	tape  []*trace.Event
	next  int
	out   *trace.Stream
	clock control.Clock
	Asked []string

	breakpoints []control.Breakpoint
	broken      int
	dir         string // where the console stands
}

// NewCluster is a cluster that will play the tape into a new stream; the first
// n events have happened already (all for a negative n).
func NewCluster(t *Tape, n int) *Cluster {
	c := &Cluster{out: trace.NewStream(0), clock: control.Clock{Paused: true, Speed: 1, Why: "you paused"}}
	for pos := uint64(0); pos < t.Stream.Len(); pos++ {
		c.tape = append(c.tape, t.Stream.Get(pos))
	}
	if n < 0 || n > len(c.tape) {
		n = len(c.tape)
	}
	for c.next < n {
		c.one()
	}
	return c
}

func (c *Cluster) one() *trace.Event {
	e := c.tape[c.next]
	c.next++
	c.clock.Elapsed, c.clock.Last = e.At, e.ID
	c.out.Append(e)
	return e
}

// Play appends the next n events unless the cluster is paused, and reports
// whether there are more.
func (c *Cluster) Play(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := 0; i < n && c.next < len(c.tape) && !c.clock.Paused; i++ {
		c.one()
	}
	return c.next < len(c.tape)
}

func (c *Cluster) ask(format string, args ...any) {
	c.Asked = append(c.Asked, fmt.Sprintf(format, args...))
}

// Trace implements [tui.Cluster].
func (c *Cluster) Trace() *trace.Stream { return c.out }

// Clock implements [tui.Cluster].
func (c *Cluster) Clock() control.Clock { c.mu.Lock(); defer c.mu.Unlock(); return c.clock }

// Pause implements [tui.Cluster].
func (c *Cluster) Pause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ask("pause")
	c.clock.Paused, c.clock.Why = true, "you paused"
	return nil
}

// Pauses is how often it was asked to pause.
func (c *Cluster) Pauses() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, what := range c.Asked {
		if what == "pause" {
			n++
		}
	}
	return n
}

// Resume implements [tui.Cluster].
func (c *Cluster) Resume() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ask("resume")
	c.clock.Paused, c.clock.Why = false, ""
	return nil
}

// Step implements [tui.Cluster].
func (c *Cluster) Step(g trace.Grain) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ask("step %s", g)
	for c.next < len(c.tape) {
		if e := c.one(); e.Grain() >= g {
			break
		}
	}
	c.clock.Paused, c.clock.Why = true, "step "+g.String()
	return nil
}

// StepOf implements [tui.Cluster]: the next event, of a grain or coarser, whose causes lead
// to the one it is of.
func (c *Cluster) StepOf(of trace.ID, least trace.Grain) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ask("step of %s, %s", of, least)
	path := view.NewPath(of)
	for pos := uint64(0); pos < c.out.Len(); pos++ {
		path.Take(c.out.Get(pos))
	}
	for c.next < len(c.tape) {
		if e := c.one(); path.Take(e) && e.Grain() >= least {
			break
		}
	}
	c.clock.Paused, c.clock.Why = true, "step path of #"+of.String()
	return nil
}

// Until implements [tui.Cluster].
func (c *Cluster) Until(expr string) error {
	c.ask("until %s", expr)
	if expr == "bad" {
		return fmt.Errorf("until: undeclared reference to 'bad' (known: store, nodes, queues, event)")
	}
	return nil
}

// Break implements [tui.Cluster]; the tape plays on past it.
func (c *Cluster) Break(expr string) (control.Breakpoint, error) {
	c.ask("break %s", expr)
	if expr == "bad" {
		return control.Breakpoint{}, fmt.Errorf("expression, column 1: there is no %q\n  %s\n  ^", expr, expr)
	}
	c.broken++
	c.breakpoints = append(c.breakpoints, control.Breakpoint{Number: c.broken, Expr: expr})
	return c.breakpoints[len(c.breakpoints)-1], nil
}

// Breakpoints implements [tui.Cluster].
func (c *Cluster) Breakpoints() []control.Breakpoint { return c.breakpoints }

// Unbreak implements [tui.Cluster].
func (c *Cluster) Unbreak(number int) error {
	c.ask("unbreak %d", number)
	c.breakpoints = slices.DeleteFunc(c.breakpoints, func(b control.Breakpoint) bool { return b.Number == number })
	return nil
}

// Speed implements [tui.Cluster].
func (c *Cluster) Speed(x float64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ask("speed %v", x)
	c.clock.Speed = x
	return nil
}

// SkipIdle implements [tui.Cluster].
func (c *Cluster) SkipIdle() error { c.ask("skip idle"); return nil }

// Faults implements [tui.Cluster].
func (c *Cluster) Faults() []control.FaultKind {
	return []control.FaultKind{
		{Name: "stop", Target: "member", Heals: "start", Means: "Stop it in an orderly way; it stays down until it is started.", Ways: []control.FaultWay{{Say: "Stop it in an orderly way"}}},
		{Name: "stop", Target: "node", Heals: "start", Means: "Stop it in an orderly way; it stays down until it is started.", Ways: []control.FaultWay{{Say: "Cut its power: nothing on it runs"}}},
		{Name: "stop", Target: "kubelet", Heals: "start", Means: "Stop it in an orderly way; it stays down until it is started.", Ways: []control.FaultWay{{Say: "Stop it: containers run on, nobody looks after them"}}},
		{Name: "stop", Target: "scheduler", Heals: "start", Means: "Stop it in an orderly way; it stays down until it is started.", Ways: []control.FaultWay{{Say: "Stop it: new pods stay Pending"}}},
		{Name: "crash", Target: "member", Heals: "start", Means: "Kill it without warning.", Ways: []control.FaultWay{{Say: "Crash it, as kill -9 does"}}},
		{Name: "crash", Target: "node", Heals: "start", Means: "Kill it without warning.", Ways: []control.FaultWay{}},
		{Name: "crash", Target: "pod", Heals: "start", Means: "Kill it without warning.", Ways: []control.FaultWay{{Say: "Kill its container: the kubelet starts it again"}}},
		{Name: "start", Target: "member", Means: "Start what was stopped or has crashed.", Repairs: true, Ways: []control.FaultWay{{Say: "Start it again"}}},
		{Name: "start", Target: "node", Means: "Start what was stopped or has crashed.", Repairs: true, Ways: []control.FaultWay{{Say: "Switch it on again"}}},
		{Name: "start", Target: "kubelet", Means: "Start what was stopped or has crashed.", Repairs: true, Ways: []control.FaultWay{{Say: "Start it again"}}},
		{Name: "start", Target: "scheduler", Means: "Start what was stopped or has crashed.", Repairs: true, Ways: []control.FaultWay{{Say: "Start it again"}}},
		{Name: "slow", Target: "member", Heals: "fast", Means: "Make it slow: a member's disk by this much a write.", Args: "DURATION", Ways: []control.FaultWay{{Say: "Slow its disk: 400 ms more a write", Args: []string{"400ms"}}, {Say: "Slow its disk by …", Ask: "how much longer each write takes, such as 2s"}}},
		{Name: "slow", Target: "node", Heals: "fast", Means: "Make it slow: a member's disk by this much a write.", Args: "DURATION", Ways: []control.FaultWay{{Say: "Slow its network: 500 ms more a request", Args: []string{"500ms"}}, {Say: "Slow its network by …", Ask: "how much longer each request takes, such as 2s"}}},
	}
}

// Targets implements [tui.Cluster].
func (c *Cluster) Targets() []string {
	return []string{"member/a", "member/b", "member/c", "node/node-1", "node/node-2", "node/node-3", "kubelet/node-1", "scheduler"}
}

// Words implements [tui.Cluster].
func (c *Cluster) Words() []control.Word {
	return []control.Word{
		{Name: "kubectl", Next: []control.Word{{Name: "get"}, {Name: "describe"}, {Name: "rollout", Next: control.Words("status", "undo")}}},
		{Name: "kviz", Next: []control.Word{
			{Name: "apiserver", Next: control.Words("--server", "audit", "remove")}, {Name: "fault", Next: control.Words("list")}, {Name: "why", Next: control.Words("--full")},
		}},
		{Name: "on", Next: control.Words("crictl", "iptables-save")},
	}
}

// Fault implements [tui.Cluster].
func (c *Cluster) Fault(_ context.Context, f control.Fault) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ask("fault %s %s %v", f.Name, f.Target, f.Args)
	return nil
}

// Exec implements [tui.Cluster].
func (c *Cluster) Exec(ctx context.Context, line string, io control.Streams) int {
	c.mu.Lock()
	c.ask("exec %s", line)
	c.mu.Unlock()
	if line == "kubectl get pods -A" {
		fmt.Fprint(io.Out, "NAMESPACE     NAME             READY   STATUS             RESTARTS   AGE\n"+
			"demo          web-7f9c-k2x9p   0/1     CrashLoopBackOff   3          12s\n"+
			"demo          web-7f9c-m4q7z   1/1     Running            0          12s\n"+
			"demo          web-7f9c-x9b2c   0/1     Pending            0          12s\n"+
			"kube-system   coredns-5d7      1/1     Running            0          15s\n")
		return 0
	}
	fmt.Fprintf(io.Err, "error: unknown command %q\n", line)
	return 1
}

// Stand implements [tui.Cluster].
func (c *Cluster) Stand(dir string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ask("stand %s", dir)
	before := c.dir
	c.dir = dir
	return before
}

// Tick is how often the demo plays.
const Tick = 15 * time.Millisecond
