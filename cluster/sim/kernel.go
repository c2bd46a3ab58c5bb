// Package sim is the kernel of the simulation: it runs every component of the
// cluster as ordinary blocking code, one at a time, in virtual time, in an
// order that the seed fixes.
//
// Real Kubernetes components are processes on machines, each with its own threads and
// clock. Here a component is a [Process], its threads are [Task]s (coroutines on
// iter.Pull, about 200 ns a switch), and exactly one task runs at any moment. A task
// yields only at the kernel's verbs:
//
//	t.Sleep(d)              let virtual time pass
//	t.Wait(cond)            until another task signals; also Mailbox.Recv
//	t.Await(…)              an operation of the real store, outside the simulation
//	t.Emit(event)           a step point: the event enters the trace, and a
//	                        paused cluster stands still right there
//
// So there are no data races, time.Now and goroutines do not occur above this
// package, and the same seed with the same inputs gives the same trace.
//
// Work from outside (HTTP, keys, faults) enters through one inbox, [Kernel.Post].
// Start reading at [Kernel.Run].
package sim

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.TimeAndClock, How: simulated.Simulated,
	What: "time is virtual: an fsync, an image pull, a probe period take modelled time, drawn from the seed",
	Seen: "the clock in the header",
})

// Sink receives every event, in order, on the kernel's goroutine. Append must
// not block.
type Sink interface {
	Append(*trace.Event)
}

// Config says how a kernel runs. The zero value is a seed of 0, the default
// epoch, full speed, no sink.
type Config struct {
	Seed  uint64
	Epoch time.Time // virtual time 0; zero means DefaultEpoch
	Sink  Sink
	// Healthy reports whether the store can answer at all (it has a leader).
	// While it cannot, virtual time runs no faster than real time. Nil means
	// always. It is called on the kernel's goroutine and must not block.
	Healthy func() bool
	// Hold is called with true when the cluster is paused and with false when it goes
	// on, so that the store can hold its messages.
	Hold func(bool)
	// Release lets one thing go of what the store holds; nil where it holds nothing.
	Release func() bool
	// Pace is called, on the kernel's goroutine, when virtual time falls behind real
	// time because the machine or the store has no time, how far, and when it keeps
	// up again. It must not block.
	Pace func(Pace)
	// Again has a run's inputs enter where they entered then; nil: nothing is run again.
	Again *Again
}

// DefaultEpoch is virtual time 0 unless Config says otherwise: fixed, so that
// the objects of two runs carry the same timestamps.
var DefaultEpoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// Kernel runs tasks. Its methods may be called only on its own goroutine (from
// tasks, timers and posted functions) unless their comment says otherwise.
type Kernel struct {
	cfg   Config
	epoch time.Time
	now   time.Duration

	moment atomic.Int64 // now, for other goroutines

	runq    fifo
	timers  timerHeap
	serial  uint64 // breaks ties between timers due at the same instant
	current *Task
	live    map[*Task]struct{}
	idle    []*coroutine // whose tasks have ended

	last trace.ID // number of the newest event

	silenced map[trace.Lane]trace.ID // see Silence

	gate  gate
	pace  pace
	inbox inbox
	turns turns

	stalled  int // awaits past their due time whose store operation has not ended
	stopping bool
	failure  error

	steps      uint64 // wake-ups so far, of what belongs to the run (see Place)
	entered    uint64 // inputs so far
	operations uint64 // begun so far
	unseen     bool   // what runs now does not belong to the run (see Unseen)
	again      *Again // nil where nothing is run again, or not any more
	repeating  atomic.Bool
	streams    randomness
}

// New makes a kernel. Nothing runs before [Kernel.Run].
func New(cfg Config) *Kernel {
	if cfg.Epoch.IsZero() {
		cfg.Epoch = DefaultEpoch
	}
	k := &Kernel{cfg: cfg, epoch: cfg.Epoch.UTC(), live: map[*Task]struct{}{}}
	k.inbox.wake = make(chan struct{}, 1)
	k.pace.speed = Max
	k.streams.seed.Store(cfg.Seed)
	if k.again = cfg.Again; k.again != nil {
		k.pace.free = true
		k.repeating.Store(true)
	}
	return k
}

// Seed is the seed the kernel was made with.
func (k *Kernel) Seed() uint64 { return k.cfg.Seed }

// Epoch is the wall-clock meaning of virtual time 0.
func (k *Kernel) Epoch() time.Time { return k.epoch }

// Elapsed is the virtual time since the epoch.
func (k *Kernel) Elapsed() time.Duration { return k.now }

// Moment is [Kernel.Elapsed] for any goroutine.
func (k *Kernel) Moment() time.Duration { return time.Duration(k.moment.Load()) }

// Now is the virtual wall-clock time.
func (k *Kernel) Now() time.Time { return k.epoch.Add(k.now) }

// Current is the task that runs now; nil between two.
func (k *Kernel) Current() *Task { return k.current }

// Last is the number of the newest event.
func (k *Kernel) Last() trace.ID { return k.last }

// PanicError is a panic inside the simulation: a broken invariant. It names
// what is needed to run it again.
type PanicError struct {
	Process string
	Task    string
	Value   any
	Stack   []byte
	Seed    uint64
	After   trace.ID // the last event before the panic

	where string // the function that panicked, of one that was contained
}

// Error names the component, the event and the seed.
func (e *PanicError) Error() string {
	return fmt.Sprintf("panic in %s (task %s) after event %s, seed %d: %v", e.Process, e.Task, e.After, e.Seed, e.Value)
}

// ErrStopped is returned by [Kernel.Call] when the kernel has stopped.
var ErrStopped = errors.New("the simulation has stopped")

// Run runs until ctx ends, [Kernel.Stop] is called or a task panics. It
// returns nil, or the *PanicError. All tasks have ended when it returns.
func (k *Kernel) Run(ctx context.Context) (err error) {
	defer context.AfterFunc(ctx, k.Stop)()
	defer func() {
		k.shutdown()
		err = k.failure // also that of a task's deferred calls
	}()
	k.pace.anchor(k.now)
	k.inbox.busy.begin(time.Now())
	defer func() { k.inbox.busy.rest(time.Now()) }()
	for !k.inbox.stopped() {
		k.drain()
		if k.failure != nil || k.inbox.stopped() {
			break
		}
		if k.letIn() || k.give() {
			continue
		}
		switch {
		case k.gate.standing:
			k.inbox.wait(0)
		case k.runq.len() > 0:
			k.resume(k.runq.pop())
		case len(k.timers) == 0 || !k.pace.mayAdvance():
			k.inbox.wait(0)
			if k.pace.demanded {
				k.pace.anchor(k.now) // the time waited here is nobody's to catch up with
			}
		default:
			k.advance()
		}
	}
	return nil
}

// Stop makes Run return. It may be called from any goroutine.
func (k *Kernel) Stop() { k.inbox.stop() }

// advance moves virtual time to the next timer and fires it, or waits a while
// in real time if it is too early (or the store has to answer first).
func (k *Kernel) advance() {
	next := k.timers[0].Timer
	if next.at > k.now {
		k.measure(next.at)
		if wait := k.pace.until(next.at); wait > slack {
			k.inbox.wait(wait)
			return
		}
	}
	if aw := next.await; aw != nil && !aw.finished() {
		if !k.waitFor(aw) {
			return
		}
	}
	k.timers.pop()
	k.reach(next.at)
	if !next.unseen && !next.cancelled {
		k.steps++
	}
	switch {
	case next.cancelled:
	case next.sleeper != nil:
		next.sleeper.ready()
	case next.fire != nil:
		k.unseen = next.unseen
		k.guard("timer", next.fire)
		k.unseen = false
	}
}

// slack is how far virtual time may run ahead of real time: what falls due a little
// later happens in the same wake-up. That saves processor time in an idle cluster,
// whose timers are small steps of a few components, and a caller does not wait in real
// time for modelled pauses that are shorter than this.
const slack = 8 * time.Millisecond

// waitFor handles an operation whose modelled time is over and whose store has
// not answered: wait for it in real time, or, where the store cannot answer
// now, let the rest of the cluster go on beside it. It reports whether the
// operation has ended.
func (k *Kernel) waitFor(aw *Operation) bool {
	if k.again != nil || !aw.outlasted() && (k.cfg.Healthy == nil || k.cfg.Healthy()) {
		waited := k.inbox.wait(healthyPoll)
		if aw.offloaded {
			return aw.finished()
		}
		k.pace.meter.store += waited
		if k.singly() && !aw.finished() {
			k.cfg.Release() // what the members do with it is where the step ends
		}
		return aw.finished()
	}
	// The store cannot answer. Take the operation out of the way; its end is
	// posted to the inbox, its timeout is a timer of its own.
	k.Enter(InputStalled, aw.number)
	k.timers.pop()
	aw.stall()
	return false
}

// healthyPoll is how long the kernel waits in real time for a healthy store
// before it looks again whether the store is still healthy.
const healthyPoll = 20 * time.Millisecond

func (k *Kernel) resume(t *Task) {
	if t.done {
		return
	}
	if !t.unseen && t.within == 0 {
		k.steps++
	}
	k.current, k.unseen, t.within = t, t.unseen, 0
	alive := t.step()
	k.current, k.unseen = nil, false
	if !alive {
		t.done = true
		delete(k.live, t)
		t.process.forget(t)
		if t.broken != nil {
			k.crashed(t.process, t.broken)
		}
	}
}

// drain runs what was posted, each at the virtual time that real time has
// reached meanwhile. While the cluster stands, only control functions
// run; work from outside waits its turn. On demand (a script), work enters only
// between two instants, when nothing is ready to run: so it does not matter
// how long in real time the script's command took to send its next request.
func (k *Kernel) drain() {
	for !k.inbox.empty() {
		k.catchUp()
		fn := k.inbox.take(k.gate.standing || k.pace.demanded && k.runq.len() > 0)
		if fn == nil {
			return
		}
		k.guard("inbox", fn)
		k.unseen = false // see Attend
	}
}

// guard runs fn on the kernel's goroutine and turns a panic into the run's end.
func (k *Kernel) guard(what string, fn func()) {
	defer func() {
		if v := recover(); v != nil && k.failure == nil {
			k.failure = k.broken(what, v, debug.Stack())
		}
	}()
	fn()
}

func (k *Kernel) shutdown() {
	k.stopping = true
	k.inbox.stop()
	for len(k.live) > 0 {
		for t := range k.live { // order does not matter: nothing is recorded any more
			t.kill()
			k.resume(t)
			delete(k.live, t)
		}
	}
	for _, c := range k.idle {
		c.stop()
	}
	k.idle = nil
	k.inbox.close()
}

// Post hands fn to the kernel as work from outside: it runs on the kernel's
// goroutine when the cluster is not standing. It may be called from any
// goroutine and does not block. It reports false when the kernel has stopped.
func (k *Kernel) Post(fn func()) bool { return k.inbox.put(fn, false) }

// PostControl is like [Kernel.Post] for what must run even while the cluster
// stands: pause, step, speed, a viewer's question.
func (k *Kernel) PostControl(fn func()) bool { return k.inbox.put(fn, true) }

// Do runs fn on the kernel's goroutine, even while the cluster stands, and
// returns when it has run. It must not be called from the kernel's goroutine.
func (k *Kernel) Do(fn func()) error {
	done := make(chan struct{})
	return k.await(context.Background(), done, nil, k.PostControl(func() { defer close(done); fn() }))
}

// Call runs fn as a task of process p, as work from outside, and returns when
// it has ended. While it runs it counts as demand: under [Kernel.SetDemand] time
// passes for it. It must not be called from the kernel's goroutine. ctx ends the
// waiting, not the task. enter, if given, is called first, to note what enters
// (see Enter). A panic in fn is the error, a [*PanicError]: it is of one caller.
func (k *Kernel) Call(ctx context.Context, p *Process, name string, fn func(*Task), enter ...func()) error {
	return k.call(ctx, TurnOf(ctx), p, name, fn, func(start, yield func()) bool {
		return k.inbox.putBoth(func() {
			for _, note := range enter {
				note()
			}
			start()
		}, yield)
	})
}

// call is Call for who has a turn or none; post posts start, which begins the task, and yield.
func (k *Kernel) call(ctx context.Context, turn *Turn, p *Process, name string, fn func(*Task), post func(start, yield func()) bool) error {
	if err := turn.leaves(ctx); err != nil {
		return err
	}
	done := make(chan struct{})
	var broken error
	var yield func()
	var roused chan struct{}
	if turn != nil {
		yield, roused = turn.yield, turn.roused
	}
	came, over, left := false, false, false // kernel's goroutine
	posted := post(func() {
		k.Start(p, name, fn, func(err error) {
			broken, came, over = err, turn == nil || !turn.isRoused(), true
			turn.back()
			if left {
				k.AddDemand(1) // it was given back
			}
			close(done)
		})
	}, yield)
	err := k.await(ctx, done, roused, posted)
	if turn != nil && !errors.Is(err, ErrStopped) {
		turn.returns(err)
		ended := false // before it was roused, whichever of the two was noticed first
		if k.Do(func() {
			if ended = came; !over && turn.isRoused() {
				left = true
				k.AddDemand(-1) // nobody waits for it
			}
		}) == nil {
			switch {
			case ended:
				err = nil
			case err == nil:
				err = context.Canceled
			}
		}
	}
	if err != nil {
		return err
	}
	return broken
}

// await waits for the end of what was posted, if it was, or until roused is closed.
func (k *Kernel) await(ctx context.Context, done, roused <-chan struct{}, posted bool) error {
	if !posted {
		return ErrStopped
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-roused:
		return context.Canceled
	case <-k.inbox.closed():
		select {
		case <-done:
			return nil
		default:
			return ErrStopped
		}
	}
}

// Start begins what Call waits for, on the kernel's goroutine; end, if given, is called at
// its end, with the panic in it if there was one.
func (k *Kernel) Start(p *Process, name string, fn func(*Task), end func(error)) {
	k.AddDemand(1)
	var broken error
	p.Go(name, func(t *Task) {
		if b := t.HandleCrashOn(trace.Ref{}, name, func() { fn(t) }); b != nil {
			broken = b
		}
	}).OnEnd(func() {
		k.AddDemand(-1)
		if end != nil {
			end(broken)
		}
	})
}
