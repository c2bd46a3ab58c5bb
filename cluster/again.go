package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"kviz/cluster/console"
	"kviz/cluster/control"
	"kviz/cluster/fault"
	"kviz/cluster/secrets"
	"kviz/cluster/serve"
	"kviz/cluster/sim"
	"kviz/cluster/storage"
	"kviz/cluster/trace"
)

// What enters a run besides what its parts note (see [sim.Kernel.Enter]).
const (
	inputBoot = "boot" // the first: the shape of the cluster
	inputFork = "fork" // the run has left another one here
)

// bootedAs is what a cluster is booted from, beyond what run.start tells.
type bootedAs struct {
	Version int // of the inputs: trace.InputVersion
	Seed    uint64
	Epoch   time.Time
	Bare    bool
	Members int
	Servers int
	Nodes   int
	Light   bool
	Quota   int64
	QPS     float32  `json:",omitempty"` // Config.Limits
	Burst   int      `json:",omitempty"`
	Sched   []byte   `json:",omitempty"` // Config.Scheduler
	Without []string `json:",omitempty"`
	Why     bool     `json:",omitempty"` // Config.WhyAnnotation
	Cloud   bool     `json:",omitempty"` // Config.External
	Closed  string   // why it cannot be booted again; "" if it can
}

// noteBoot notes it; on the kernel's goroutine.
func noteBoot(k *sim.Kernel, cfg Config) {
	b := bootedAs{
		Version: trace.InputVersion, Seed: cfg.Seed, Epoch: k.Epoch(), Bare: cfg.Bare, Members: cfg.Members, Servers: cfg.Servers,
		Nodes: cfg.Nodes, Light: cfg.Light, Quota: cfg.Quota, QPS: cfg.Limits.QPS, Burst: cfg.Limits.Burst, Sched: cfg.Scheduler, Without: cfg.Without, Why: cfg.WhyAnnotation, Cloud: cfg.External,
	}
	switch {
	case cfg.Remote != nil:
		b.Closed = "the store's members are processes of their own, which keep what they have"
	case cfg.DataDir != "" && !cfg.Bare:
		b.Closed = "it began with what the members had in a data directory, which has changed since"
	}
	k.Enter(inputBoot, b)
}

// repeat is a run that is run again.
type repeat struct {
	ctx     context.Context
	hide    *secrets.Hider // knows what secrets of this run have placeholders in its inputs
	again   sim.Again
	tasks   map[string]bool // what has asked for tasks of its own (sim.Kernel.CallAs)
	fork    control.Fork
	c       *Cluster
	watch   func(*trace.Event) // gets every event, until unwatch
	unwatch func()
	ended   chan error // gets nil when the cluster stands where it was to come to
}

func newRepeat(ctx context.Context, inputs []*trace.Input, fork control.Fork) (*repeat, error) {
	r := &repeat{ctx: ctx, hide: secrets.NewAgain(), tasks: map[string]bool{}, fork: fork, ended: make(chan error, 1)}
	for _, in := range inputs {
		if in.What == inputBoot {
			continue // Boot notes it
		}
		if in.What == sim.InputTask {
			var key string
			if err := in.Decode(&key); err != nil {
				return nil, fmt.Errorf("input %d: %w", in.Number, err)
			}
			r.tasks[key] = true
		}
		r.again.Inputs = append(r.again.Inputs, in)
	}
	r.again.To, r.again.Let, r.again.Ended = fork.At.Seq, r.let, r.leave
	return r, nil
}

// kernel is what the kernel has to know of it.
func (r *repeat) kernel() *sim.Again {
	if r == nil {
		return nil
	}
	return &r.again
}

// of says which cluster it is.
func (r *repeat) of(c *Cluster) {
	if r != nil {
		r.c, c.forked = c, &r.fork
		r.unwatch = c.stream.Tee(r.watch)
	}
}

// let lets in what entered then, on the kernel's goroutine: whoever noted it knows how.
func (r *repeat) let(in *trace.Input) (bool, error) {
	in = r.hide.RestoreInput(in)
	switch {
	case in.Closed != "":
		return false, fmt.Errorf("it could not be written down: %s", in.Closed)
	case slices.Contains(serve.Inputs, in.What):
		return r.c.edges.again(in, r.c.console.Process())
	case slices.Contains(console.Inputs, in.What):
		return r.c.console.Again(r.ctx, in, func(task string) bool { return r.tasks[task] })
	case in.What == inputFault || in.What == inputFaultBegins:
		return r.c.faults.again(in)
	case in.What == inputScheduler || in.What == inputPermit:
		return r.c.sched.again(in)
	case in.What == inputLoad:
		return r.c.nodes.loads.again(in)
	case in.What == inputCredential:
		return r.c.outsiders.again(in)
	case in.What == storage.InputShown:
		return r.c.etcd.client.Again(in)
	case in.What == inputFork:
		var f control.Fork
		if err := in.Decode(&f); err != nil {
			return false, err
		}
		r.c.depart(f)
		return true, nil
	}
	return false, fmt.Errorf("this kviz does not know what a %s is", in.What)
}

// leave has the cluster go on by itself: who was at the old one is not at this one.
func (r *repeat) leave(err error) {
	if err == nil {
		r.c.edges.leave()
		r.c.console.Leave()
		r.c.etcd.client.Leave()
		r.c.depart(r.fork)
		r.c.clock.stands(fmt.Sprintf("forked at #%s", r.fork.At))
	}
	r.ended <- err
}

// depart notes that the run leaves another one here; on the kernel's goroutine.
func (c *Cluster) depart(f control.Fork) {
	c.kernel.Enter(inputFork, f)
	if f.Reseed {
		c.kernel.Reseed(f.Seed)
	}
}

// Forked says where the cluster left the run that it comes from; nil for one that began by
// itself.
func (c *Cluster) Forked() *control.Fork { return c.forked }

// MembersMatter reports whether a run depends on its store having members: where it has
// faults of these or of the store, or the store stalled.
func MembersMatter(past []*trace.Event) bool {
	return slices.ContainsFunc(past, func(e *trace.Event) bool {
		switch p := e.Payload.(type) {
		case *trace.Input:
			return p.What == sim.InputStalled || p.What == storage.InputShown
		case *trace.Fault:
			kind := fault.TargetKind(p.Target)
			return kind == "member" || kind == "store"
		}
		return false
	})
}
