package sim

import (
	"sync/atomic"
	"time"
)

// busy counts for how long a kernel has not waited. Its kernel's goroutine counts, any may read.
type busy struct {
	total atomic.Int64 // nanoseconds, up to since
	since atomic.Int64 // when it began to work, by the wall clock; 0 while it waits
}

func (b *busy) begin(now time.Time) { b.since.Store(now.UnixNano()) }

func (b *busy) rest(now time.Time) {
	if since := b.since.Swap(0); since != 0 {
		b.total.Add(now.UnixNano() - since)
	}
}

// Busy is for how long, in real time, the kernel has worked and not waited: what it has spent of a processor, and on a
// machine with more work than processors what it waited for one too. Members of the store, and commands of the
// console, work beside it and do not count. It may be called from any goroutine.
func (k *Kernel) Busy() time.Duration {
	total, since := k.inbox.busy.total.Load(), k.inbox.busy.since.Load()
	if since != 0 {
		total += max(time.Now().UnixNano()-since, 0)
	}
	return time.Duration(total)
}
