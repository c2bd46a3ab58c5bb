package sim

import (
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"kviz/cluster/trace"
)

// Process is a component as the machine sees it: something that starts, holds
// tasks, and can be killed with all of them. Killing is how a crash looks from
// inside: no task of it runs another line but its deferred calls.
type Process struct {
	Lane  trace.Lane
	k     *Kernel
	tasks int     // that have not ended
	order []*Task // tasks in the order they started, for a repeatable kill
	dead  bool
	began trace.ID // see Began
	ended trace.ID // see Ended

	parent   *Process   // nil of one that is no part of another
	children []*Process // die with this one
	onCrash  func(*PanicError)
}

// NewProcess makes a process that speaks in the given lane.
func (k *Kernel) NewProcess(lane trace.Lane) *Process {
	return &Process{Lane: lane, k: k}
}

// Child makes a part of the process that speaks in a lane of its own, as each
// controller of the controller manager does. It is killed with its parent, or alone.
func (p *Process) Child(lane trace.Lane) *Process {
	c := p.k.NewProcess(lane)
	c.dead, c.began, c.parent = p.dead, p.began, p
	p.children = append(p.children, c)
	return c
}

// Begin notes the event of the process's start, before its first task.
func (p *Process) Begin(id trace.ID) { p.began = id }

// Began is the event of the process's start: the cause of what it does first,
// before it has heard of anything. Zero if nobody told.
func (p *Process) Began() trace.ID { return p.began }

// End notes the event of the process's end, after it was killed.
func (p *Process) End(id trace.ID) { p.ended = id }

// Ended is the event of the process's end: the cause of what others conclude
// from it, such as that a connection is closed. Zero while nobody told.
func (p *Process) Ended() trace.ID { return p.ended }

// Kernel is the kernel the process runs on.
func (p *Process) Kernel() *Kernel { return p.k }

// Alive reports whether the process has not been killed.
func (p *Process) Alive() bool { return !p.dead }

// Go starts fn as a task. It begins to run when the kernel gets to it, after
// everything that is already ready at this instant.
func (p *Process) Go(name string, fn func(*Task)) *Task {
	if p.dead {
		panic("sim: Process.Go on " + p.Lane.String() + ", which has been killed; make a new Process to restart it")
	}
	t := &Task{name: name, process: p, k: p.k, fn: fn, unseen: p.k.unseen}
	t.leave = t.waiter.leave
	p.tasks++
	p.order = append(p.order, t)
	p.k.live[t] = struct{}{}
	p.k.runq.push(t)
	return t
}

// Kill ends the process: every task unwinds at the verb it is waiting in. A
// task may kill its own process; it then unwinds at its next verb.
func (p *Process) Kill() {
	if p.dead {
		return
	}
	p.dead = true
	for _, t := range p.order {
		if !t.done {
			t.kill()
		}
	}
	p.order = nil
	for _, c := range p.children {
		c.Kill()
	}
	p.children = nil
	if up := p.parent; up != nil && !up.dead { // a part that ends alone
		up.children = slices.DeleteFunc(up.children, func(c *Process) bool { return c == p })
	}
}

func (p *Process) forget(t *Task) {
	p.tasks--
	// order is compacted when most of it is finished tasks. It is, soon: each of a thousand nodes
	// begins a task now and then.
	if len(p.order) > 4 && len(p.order) > 2*p.tasks {
		kept := p.order[:0]
		for _, o := range p.order {
			if !o.done {
				kept = append(kept, o)
			}
		}
		clear(p.order[len(kept):])
		p.order = kept
	}
}

// Task is one thread of a process.
type Task struct {
	name    string
	process *Process
	k       *Kernel
	rand    *rand.Rand

	fn     func(*Task)
	on     *coroutine // what it runs on; nil before its first line and after its end
	sleep  Timer      // of Sleep: a task sleeps once at a time
	waiter condWaiter
	leave  func() // waiter.leave
	rouse  func() // sleep.Cancel, once it has slept

	causes   []trace.ID
	deadline time.Duration
	unpark   func() // takes the task out of what it waits in; nil when ready
	onEnd    func()
	parked   bool
	killed   bool
	done     bool
	unseen   bool   // see Kernel.Unseen
	within   uint64 // the event after which it stands, in the midst of a step; 0 if it does not
	broken   *PanicError
}

// killed unwinds a task whose process was killed.
type killedSignal struct{}

// Name is the task's name within its process.
func (t *Task) Name() string { return t.name }

// Process is the process the task belongs to.
func (t *Task) Process() *Process { return t.process }

// Lane is the lane the task's events go to.
func (t *Task) Lane() trace.Lane { return t.process.Lane }

// Kernel is the kernel the task runs on.
func (t *Task) Kernel() *Kernel { return t.k }

// Now is the virtual wall-clock time.
func (t *Task) Now() time.Time { return t.k.Now() }

// Elapsed is the virtual time since the epoch.
func (t *Task) Elapsed() time.Duration { return t.k.now }

// Rand is the task's own source of randomness, fixed by the seed and the names
// of its process and itself.
func (t *Task) Rand() *rand.Rand {
	if t.rand == nil {
		t.rand = t.k.Rand(t.process.Lane.String() + "/" + t.name)
	}
	return t.rand
}

// OnEnd sets what is called, on the kernel's goroutine, when the task has ended,
// however it ended: also when it was killed before it ran its first line, where
// no deferred call of it runs. fn must not call a task's verbs.
func (t *Task) OnEnd(fn func()) { t.onEnd = fn }

// Causes are the events that the task is acting on.
func (t *Task) Causes() []trace.ID { return t.causes }

// SetCauses says which events the task is acting on from now on: events it
// emits without causes of their own get these.
func (t *Task) SetCauses(ids ...trace.ID) {
	t.causes = make([]trace.ID, 0, len(ids)) // a new one: events have the old
	for _, id := range ids {
		if !id.IsZero() {
			t.causes = append(t.causes, id)
		}
	}
}

// Deadline is until when somebody waits for what the task does, in virtual time
// since the epoch, as a context's deadline; 0 for no limit. What the task calls
// may give up then.
func (t *Task) Deadline() time.Duration { return t.deadline }

// SetDeadline sets it.
func (t *Task) SetDeadline(at time.Duration) { t.deadline = at }

// Emit appends an event to the trace and returns its number. ID and At are filled in;
// Lane is the process's unless given; Causes are the task's unless given. It is a
// step point: if the cluster stops at this event, Emit returns only when the cluster
// goes on.
func (t *Task) Emit(e trace.Event) trace.ID {
	t.mustRun("Emit")
	if e.Lane == (trace.Lane{}) {
		e.Lane = t.process.Lane
	}
	if e.Causes == nil {
		e.Causes = t.causes
	}
	id := t.k.append(&e)
	if t.k.gate.standing {
		// First in line when the cluster moves again.
		t.within = t.k.last.Seq
		t.k.runq.pushFront(t)
		t.park(nil)
	}
	return id
}

// Sleep lets d of virtual time pass. Zero or less yields to everything that is ready
// at this instant.
func (t *Task) Sleep(d time.Duration) {
	t.mayWait("Sleep")
	if d <= 0 {
		t.k.runq.push(t)
		t.park(nil)
		return
	}
	if t.rouse == nil {
		t.rouse = t.sleep.Cancel
	}
	k := t.k
	k.serial++
	t.sleep = Timer{at: k.after(d), serial: k.serial, sleeper: t, unseen: t.unseen, k: k}
	k.timers.push(&t.sleep)
	t.park(t.rouse)
}

// SleepUntil sleeps until the virtual time at.
func (t *Task) SleepUntil(at time.Time) { t.Sleep(at.Sub(t.Now())) }

// Yield yields to everything that is ready at this instant.
func (t *Task) Yield() { t.Sleep(0) }

// mayWait is mustRun for the verbs that yield; it also ends a task that was killed
// meanwhile, before it registers with anything that could wake it.
func (t *Task) mayWait(verb string) {
	t.mustRun(verb)
	if t.killed {
		panic(killedSignal{})
	}
}

// mustRun panics when a verb is used outside its task's turn.
func (t *Task) mustRun(verb string) {
	if t.k.current != t {
		panic("sim: " + verb + " of task " + t.process.Lane.String() + "/" + t.name +
			" called outside its turn; call it only from the function given to Process.Go, never from another task, a timer or a goroutine")
	}
}

// park yields until ready is called. unpark must take the task out of wherever it is
// registered, so that a kill leaves nothing behind.
func (t *Task) park(unpark func()) {
	if t.killed {
		panic(killedSignal{})
	}
	t.unpark, t.parked = unpark, true
	t.on.yield(struct{}{})
	t.unpark, t.parked = nil, false
	if t.killed {
		panic(killedSignal{})
	}
}

// ready puts a parked task in the run queue.
func (t *Task) ready() {
	if t.done || t.killed {
		return
	}
	t.unpark = nil
	t.k.runq.push(t)
}

func (t *Task) kill() {
	if t.killed || t.done {
		return
	}
	t.killed = true
	if t.unpark != nil {
		t.unpark()
		t.unpark = nil
	}
	if t.k.current != t {
		t.k.runq.push(t)
	}
}

// step runs the task to its next verb and reports whether it lives on.
func (t *Task) step() bool {
	if t.on == nil {
		if t.killed { // never started
			t.end()
			return false
		}
		t.on = t.k.coroutine()
		t.on.task = t
	}
	c := t.on
	c.next()
	if !t.done {
		return true
	}
	t.on, t.fn = nil, nil
	t.k.rest(c)
	return false
}

// coroutine runs one task after another: its stack has grown to what a task
// needs, and making one costs more than most tasks do.
type coroutine struct {
	task  *Task
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
}

// idleCoroutines is how many are kept for the next tasks.
const idleCoroutines = 64

func (k *Kernel) coroutine() *coroutine {
	if last := len(k.idle) - 1; last >= 0 {
		c := k.idle[last]
		k.idle[last], k.idle = nil, k.idle[:last]
		return c
	}
	c := &coroutine{}
	c.next, c.stop = iter.Pull(func(yield func(struct{}) bool) {
		c.yield = yield
		for {
			c.task.run()
			if !yield(struct{}{}) {
				return
			}
		}
	})
	return c
}

// rest keeps a coroutine whose task has ended, or lets it go.
func (k *Kernel) rest(c *coroutine) {
	c.task = nil
	if len(k.idle) < idleCoroutines {
		k.idle = append(k.idle, c)
		return
	}
	c.stop()
}

func (t *Task) run() {
	defer t.finish()
	t.fn(t)
}

func (t *Task) finish() {
	if v := recover(); v != nil {
		if _, ok := v.(killedSignal); !ok {
			t.broken = panicked(v)
			t.owns(t.broken)
		}
	}
	t.end()
}

func (t *Task) end() {
	t.done = true
	if fn := t.onEnd; fn != nil {
		t.onEnd = nil
		t.k.guard("end of "+t.process.Lane.String()+"/"+t.name, fn)
	}
}

// fifo is a queue of tasks that can also be pushed at the front.
type fifo struct {
	items []*Task
	head  int
}

func (q *fifo) len() int { return len(q.items) - q.head }

func (q *fifo) push(t *Task) { q.items = append(q.items, t) }

func (q *fifo) pushFront(t *Task) {
	if q.head > 0 {
		q.head--
		q.items[q.head] = t
		return
	}
	q.items = append([]*Task{t}, q.items...)
}

func (q *fifo) pop() *Task {
	t := q.items[q.head]
	q.items[q.head] = nil
	q.head++
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	} else if q.head > 1024 && q.head*2 > len(q.items) {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	return t
}
