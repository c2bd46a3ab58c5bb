package fairness

// drops is how many requests a level has rejected lately, from which follows
// after how many seconds their senders may try again
// (apiserver pkg/util/flowcontrol/dropped_requests_tracker.go).
type drops struct {
	history    []second // before the newest
	newest     second
	retryAfter int64
	changed    int64 // when retryAfter grew last
}

type second struct{ at, n int64 }

const longestRetry = 32

func newDrops() drops { return drops{retryAfter: 1} }

func (d *drops) record(now int64) {
	if d.newest.at == now {
		d.newest.n++
		return
	}
	d.history = append(d.history, d.newest)
	for len(d.history) > 0 && d.newest.at-d.history[0].at > min(2*d.retryAfter, longestRetry) {
		d.history = d.history[1:]
	}
	d.newest = second{now, 1}
	d.adjust(now)
}

// adjust doubles the time while many are rejected, and shortens it when few are.
func (d *drops) adjust(now int64) {
	n := int64(0)
	for _, s := range d.history {
		if now-s.at <= d.retryAfter && s.at < now {
			n += s.n
		}
	}
	switch {
	case now-d.changed >= d.retryAfter && n >= 3*d.retryAfter:
		d.retryAfter, d.changed = min(2*d.retryAfter, longestRetry), now
	case n < d.retryAfter && d.retryAfter > 1:
		d.retryAfter--
	}
}
