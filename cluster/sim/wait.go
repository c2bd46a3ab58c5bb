package sim

import "time"

// Timer is something that happens at a later virtual time.
type Timer struct {
	at        time.Duration
	serial    uint64
	index     int
	fire      func()
	sleeper   *Task // in place of fire: the task to wake
	await     *Operation
	cancelled bool
	unseen    bool // see Kernel.Unseen
	k         *Kernel
}

// After runs fn on the kernel's goroutine when d of virtual time has passed.
// fn may make tasks ready but must not call a task's verbs.
func (k *Kernel) After(d time.Duration, fn func()) *Timer {
	return k.addTimer(d, fn, nil)
}

func (k *Kernel) addTimer(d time.Duration, fn func(), aw *Operation) *Timer {
	k.serial++
	t := &Timer{at: k.after(d), serial: k.serial, fire: fn, await: aw, unseen: k.unseen, k: k}
	k.timers.push(t)
	return t
}

// Cancel takes the timer out; it will not fire. Cancelling twice, or after it
// has fired, does nothing.
func (t *Timer) Cancel() {
	if t.cancelled {
		return
	}
	t.cancelled = true
	if t.index >= 0 {
		t.k.timers.remove(t.index)
	}
}

// Cond is a place where tasks wait to be woken. The zero value is ready to
// use. Unlike sync.Cond it needs no lock: only one task runs at a time.
type Cond struct {
	first, last *condWaiter
}

// condWaiter is a task's place among those that wait. A task waits in one place
// at a time, so its own one (Task.waiter) serves every wait.
type condWaiter struct {
	task       *Task
	cond       *Cond // where it waits; nil when it does not
	prev, next *condWaiter
	timer      *Timer
	woken      bool
}

// Wait yields until Signal or Broadcast wakes the task.
func (c *Cond) Wait(t *Task) {
	t.mayWait("Cond.Wait")
	c.join(t)
	t.park(t.leave)
}

// WaitTimeout is Wait with a limit in virtual time. It reports whether the
// task was woken, as against timed out. d <= 0 waits without a limit.
func (c *Cond) WaitTimeout(t *Task, d time.Duration) bool {
	if d <= 0 {
		c.Wait(t)
		return true
	}
	t.mayWait("Cond.WaitTimeout")
	w := c.join(t)
	w.timer = t.k.After(d, func() {
		w.timer = nil
		w.leave()
		t.ready()
	})
	t.park(t.leave)
	return w.woken
}

// Signal wakes the task that has waited longest, if any.
func (c *Cond) Signal() {
	if c.first != nil {
		c.first.wake()
	}
}

// Broadcast wakes every waiting task, in the order they came.
func (c *Cond) Broadcast() {
	for c.first != nil {
		c.first.wake()
	}
}

// join puts the task behind those that wait already.
func (c *Cond) join(t *Task) *condWaiter {
	w := &t.waiter
	*w = condWaiter{task: t, cond: c, prev: c.last}
	if c.last != nil {
		c.last.next = w
	} else {
		c.first = w
	}
	c.last = w
	return w
}

func (w *condWaiter) wake() {
	w.woken = true
	w.leave()
	w.task.ready()
}

// leave takes the task out of where it waits.
func (w *condWaiter) leave() {
	c := w.cond
	if c == nil {
		return
	}
	if w.timer != nil {
		w.timer.Cancel()
		w.timer = nil
	}
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		c.first = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	} else {
		c.last = w.prev
	}
	w.cond, w.prev, w.next = nil, nil, nil
}

// Mailbox is an unbounded queue between tasks (or from the kernel to a task):
// sending never blocks. The zero value is ready to use.
type Mailbox[T any] struct {
	items  []T
	head   int
	cond   Cond
	closed bool
}

// Send appends v and wakes a receiver. Sending to a closed mailbox drops v.
func (m *Mailbox[T]) Send(v T) {
	if m.closed {
		return
	}
	m.items = append(m.items, v)
	m.cond.Signal()
}

// Len is how many items wait.
func (m *Mailbox[T]) Len() int { return len(m.items) - m.head }

// Close lets receivers take what is left and then get ok=false.
func (m *Mailbox[T]) Close() {
	m.closed = true
	m.cond.Broadcast()
}

// Closed reports whether Close was called.
func (m *Mailbox[T]) Closed() bool { return m.closed }

// Recv takes the oldest item, waiting for one if need be. ok is false when the
// mailbox is closed and empty.
func (m *Mailbox[T]) Recv(t *Task) (v T, ok bool) {
	v, ok, _ = m.RecvTimeout(t, 0)
	return v, ok
}

// RecvTimeout is Recv with a limit in virtual time; d <= 0 means none.
func (m *Mailbox[T]) RecvTimeout(t *Task, d time.Duration) (v T, ok, timedOut bool) {
	deadline := t.Elapsed() + d
	for m.Len() == 0 {
		if m.closed {
			return v, false, false
		}
		left := time.Duration(0)
		if d > 0 {
			if left = deadline - t.Elapsed(); left <= 0 {
				return v, false, true
			}
		}
		m.cond.WaitTimeout(t, left)
	}
	return m.pop(), true, false
}

// TryRecv takes the oldest item if there is one.
func (m *Mailbox[T]) TryRecv() (v T, ok bool) {
	if m.Len() == 0 {
		return v, false
	}
	return m.pop(), true
}

func (m *Mailbox[T]) pop() T {
	var zero T
	v := m.items[m.head]
	m.items[m.head] = zero
	m.head++
	if m.head == len(m.items) {
		m.items, m.head = m.items[:0], 0
	}
	return v
}
