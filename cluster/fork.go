package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"kviz/cluster/client/throttle"
	"kviz/cluster/control"
	"kviz/cluster/secrets"
	"kviz/cluster/trace"
)

// ForkConfig says how a run is forked.
type ForkConfig struct {
	Parent string   // what the run is called
	At     trace.ID // the event after which the branch goes its own way
	// Seed decides every random choice from there on; nil: as it would have been.
	Seed *uint64
	// Bare runs it on the mvcc state machine alone, also where it had members: for runs in
	// which these do not matter.
	Bare bool

	// Unchecked leaves out the comparison on the way: for many forks of a run when one, at a
	// later event, has been checked.
	Unchecked bool

	Speed    float64                    // from there on: virtual seconds per real second; 0 is as fast as possible
	Demand   bool                       // from there on, as Config has it
	Limit    int                        // events kept in memory, as Config has it
	Quota    int64                      // from there on, as Config has it; 0 is as it was
	Progress func(control.ForkProgress) // told now and then; nil: nobody is told
	Version  string                     // of kviz, for the trace
}

// Errors of forking.
var (
	// ErrNoInputs says that a recording does not have what entered the run.
	ErrNoInputs = errors.New("this recording cannot be continued: it was written by a kviz that did not yet write down what entered from outside (it can be watched, with kviz replay)")
	// ErrNotWhole says that the first events of a run are not there any more.
	ErrNotWhole = errors.New("the run cannot be run again: its first events are not kept any more (with --trace FILE all are)")
)

// DifferError says that a repeated run came out differently.
type DifferError struct {
	At     trace.ID // the first event that differs
	Was    *trace.Event
	Is     *trace.Event // nil if there is none
	Reason error        // what came in the way, if something did
}

// Error names the place; see Was and Is for the rest.
func (e *DifferError) Error() string {
	switch {
	case e.Reason != nil:
		return fmt.Sprintf("the run could not be run again beyond event #%s: %v", e.At, e.Reason)
	case e.Is == nil:
		return fmt.Sprintf("the run went on differently: there is no event #%s", e.At)
	}
	return fmt.Sprintf("the run went on differently at event #%s: it was %s, and is %s", e.At, trace.Line(e.Was, ""), trace.Line(e.Is, ""))
}

func (e *DifferError) Unwrap() error { return e.Reason }

// Where is the first event that differs.
func (e *DifferError) Where() trace.ID { return e.At }

// Fork boots a cluster and repeats a run in it, as fast as the machine can, up to an event:
// its inputs enter again at the same places. The cluster then stops there, live, and the member leads
// that led then, if raft can be brought to it ([Cluster.Leader]). Every event on the way is compared with that of the first
// run. past is the run from its beginning. When ctx ends before it stands, all is closed; from then on the cluster is the
// caller's to Close.
func Fork(ctx context.Context, past []*trace.Event, f ForkConfig) (*Cluster, error) {
	cfg, inputs, want, err := prepareFork(past, &f)
	if err != nil {
		return nil, err
	}
	fork := control.Fork{Parent: f.Parent, At: f.At}
	if f.Seed != nil {
		fork.Seed, fork.Reseed = *f.Seed, true
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx)) // of commands that are given again
	r, err := newRepeat(life, inputs, fork)
	if err != nil {
		end()
		return nil, err
	}
	if f.Unchecked {
		want = nil
	}
	watch := newComparison(want, f.Progress)
	r.watch = func(e *trace.Event) { watch.take(r.hide.Hide(e)) }
	c, err := boot(ctx, cfg, r)
	if err != nil {
		end()
		return nil, err
	}
	c.kernel.Beside("compare a run with what it was", watch.run)
	c.kernel.Beside("end the commands that were given again", func() { <-c.Ended(); end() })
	if err := r.wait(ctx, c, watch); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	r.unwatch()
	r.watch, r.unwatch = nil, nil // both hold the events of the first run, which may be many
	if !f.Unchecked {
		c.etcd.leadAs(LeaderAt(past, f.At))
	}
	if f.Quota > 0 {
		c.etcd.quota.Store(f.Quota)
	}
	err = c.Speed(f.Speed)
	if err == nil && f.Demand {
		err = c.kernel.Do(func() { c.kernel.SetDemand(true) })
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// wait waits until the cluster stands where it was to come to, and all events on the way are
// found to be what they were.
func (r *repeat) wait(ctx context.Context, c *Cluster, watch *comparison) error {
	for stands, same := false, false; !stands || !same; {
		select {
		case err := <-r.ended:
			switch {
			case err == nil:
				stands = true
			case same:
				return &DifferError{At: r.fork.At, Reason: err}
			default:
				return watch.lost(err)
			}
		case err := <-watch.result:
			if same = true; err != nil {
				return err
			}
		case <-c.Ended():
			err := cmp.Or(c.Err(), ErrNotReady)
			if !same {
				err = watch.lost(err)
			}
			return err
		case <-ctx.Done():
			watch.stop()
			return fmt.Errorf("fork: %w", ctx.Err())
		}
	}
	return nil
}

// inputOfVersion1 is an input of version 1, which entered after this event, with its place as it is told
// now: before the task moved that stood there when the input before it entered.
func inputOfVersion1(in *trace.Input, after uint64, before []*trace.Input) *trace.Input {
	if len(before) == 0 || in.Within != 0 {
		return in
	}
	if last := before[len(before)-1]; last.Within == after && last.Steps == in.Steps {
		moved := *in
		moved.Within = after
		return &moved
	}
	return in
}

// prepareFork reads from a run how to boot it again, what entered it, and the control-plane
// events that are to come.
func prepareFork(past []*trace.Event, f *ForkConfig) (cfg Config, inputs []*trace.Input, want []*trace.Event, err error) {
	if i := slices.IndexFunc(past, func(e *trace.Event) bool { return !e.Outside() }); i < 0 || past[i].Kind != trace.RunStart {
		return cfg, nil, nil, ErrNotWhole
	}
	f.At.Sub = 0
	boot, hide := bootedAs{}, secrets.NewAgain()
	for _, e := range past {
		in, ok := e.Payload.(*trace.Input)
		e = hide.Hide(e) // a recording is without secrets, and events of a run in memory are not
		switch {
		case e.ID.Seq > f.At.Seq:
		case !e.Outside():
			want = append(want, e)
		case !ok || e.Kind != trace.InputEntered || e.ID.Seq == f.At.Seq && in.What != inputBoot:
		case in.What == inputBoot:
			if err := in.Decode(&boot); err != nil {
				return cfg, nil, nil, err
			}
		default:
			if boot.Version == 1 {
				in = inputOfVersion1(in, e.ID.Seq, inputs)
			}
			inputs = append(inputs, in)
		}
	}
	switch last := past[len(past)-1].ID.Seq; {
	case f.At.Seq == 0 || f.At.Seq > last:
		return cfg, nil, nil, fmt.Errorf("there is no event #%s to fork at: the run has #1 to #%d", f.At, last)
	case boot.Version == 0:
		return cfg, nil, nil, ErrNoInputs
	case boot.Version > trace.InputVersion:
		return cfg, nil, nil, fmt.Errorf("this recording cannot be continued by this kviz: a newer one wrote down what entered from outside (version %d; this one knows %d)", boot.Version, trace.InputVersion)
	case boot.Closed != "":
		return cfg, nil, nil, fmt.Errorf("this run cannot be run again: %s", boot.Closed)
	}
	cfg = Config{
		Seed: boot.Seed, Epoch: boot.Epoch, Bare: boot.Bare || f.Bare, Members: boot.Members, Servers: boot.Servers, Nodes: boot.Nodes,
		NoSync: true, Light: boot.Light, Quota: boot.Quota, Limits: throttle.Limits{QPS: boot.QPS, Burst: boot.Burst}, Scheduler: boot.Sched, Without: boot.Without, WhyAnnotation: boot.Why, External: boot.Cloud, Limit: f.Limit, Version: f.Version,
	}
	if cfg.Nodes == 0 {
		cfg.Nodes = -1
	}
	return cfg, inputs, want, nil
}
