package fairness

import "time"

// flowID names what most metrics are kept by.
type flowID struct{ level, schema string }

// Flow is what has become of the requests of one schema at one level since the
// server's start: apiserver_flowcontrol_* (apiserver
// pkg/util/flowcontrol/metrics/metrics.go).
type Flow struct {
	dispatched        uint64
	rejected          [reasons]uint64
	waiting           int
	waitingSeats      int
	executing         int
	executingSeats    int // those that are kept for watchers too
	lengths           histogram
	waited            [2]histogram // of those that were rejected, and of those that were served
	executed, watched histogram    // of requests, and of watches
	widths, watchers  histogram
}

type reason int

const (
	queueFull reason = iota
	concurrencyLimit
	timeOut
	reasons
)

var reasonNames = [reasons]string{"queue-full", "concurrency-limit", "time-out"}

// histogram counts values by upper bounds.
type histogram struct {
	counts [16]uint64 // by bound; those above all bounds are in n only
	n      uint64
	sum    float64
}

func (h *histogram) observe(bounds []float64, x float64) {
	h.n++
	h.sum += x
	for i, b := range bounds {
		if x <= b {
			h.counts[i]++
			return
		}
	}
}

var (
	lengthBounds  = []float64{0, 10, 25, 50, 100, 250, 500, 1000}
	secondBounds  = []float64{0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30}
	widthBounds   = []float64{1, 2, 4, 8, 16, 32, 64, 100}
	watcherBounds = []float64{0, 1, 10, 100, 1000, 10000}
)

func (c *Controller) flow(id flowID) *Flow {
	f := c.flows[id]
	if f == nil {
		f = &Flow{}
		c.flows[id] = f
	}
	return f
}

// Watchers notes how many watchers a request's write would go to.
func (f *Flow) Watchers(n int) { f.watchers.observe(watcherBounds, float64(n)) }

func (f *Flow) reject(why reason, waited time.Duration) {
	f.rejected[why]++
	f.waited[0].observe(secondBounds, waited.Seconds())
}

func (f *Flow) queue(by, width, length int) {
	f.waiting += by
	f.waitingSeats += by * width
	if by > 0 {
		f.lengths.observe(lengthBounds, float64(length))
	}
}

func (f *Flow) sit(width int, limited bool, waited time.Duration) {
	f.dispatched++
	f.executing++
	f.executingSeats += width
	if limited {
		f.waited[1].observe(secondBounds, waited.Seconds())
	}
}

func (f *Flow) finish(watch bool, took time.Duration) {
	f.executing--
	if watch {
		f.watched.observe(secondBounds, took.Seconds())
	} else {
		f.executed.observe(secondBounds, took.Seconds())
	}
}
