package cluster

import (
	"sync"
	"time"

	"kviz/cluster/control"
	"kviz/cluster/trace"
)

// comparison compares the events of a run that is run again with those that it had, beside
// the kernel.
type comparison struct {
	want     []*trace.Event
	progress func(control.ForkProgress)
	began    time.Time

	came   chan *trace.Event
	over   chan struct{} // closed when no more are looked at
	once   sync.Once
	result chan error // gets nil when all have come
}

func newComparison(want []*trace.Event, progress func(control.ForkProgress)) *comparison {
	if progress == nil {
		progress = func(control.ForkProgress) {}
	}
	return &comparison{
		want: want, progress: progress, began: time.Now(),
		came: make(chan *trace.Event, 1<<14), over: make(chan struct{}), result: make(chan error, 1),
	}
}

// take is given every event, on the kernel's goroutine. A run that is run again may wait.
func (w *comparison) take(e *trace.Event) {
	if e.Outside() {
		return
	}
	select {
	case <-w.over:
	case w.came <- e:
	default:
		select {
		case <-w.over:
		case w.came <- e:
		}
	}
}

// stop ends the looking.
func (w *comparison) stop() { w.once.Do(func() { close(w.over) }) }

// How often is told how far it is, and how many events a usual machine does in a second.
const (
	tellEvery       = 100 * time.Millisecond
	usuallyInSecond = 20_000
)

// run compares until all events have come, or one that differs.
func (w *comparison) run() {
	defer w.stop()
	tick := time.NewTicker(tellEvery)
	defer tick.Stop()
	w.tell(0)
	for i := 0; i < len(w.want); {
		select {
		case is := <-w.came:
			if err := differs(w.want[i], is); err != nil {
				w.result <- err
				return
			}
			i++
		case <-tick.C:
			w.tell(i)
		case <-w.over:
			for len(w.came) > 0 && i < len(w.want) {
				if err := differs(w.want[i], <-w.came); err != nil {
					w.result <- err
					return
				}
				i++
			}
			if i == len(w.want) {
				w.result <- nil
				return
			}
			w.result <- &DifferError{At: w.want[i].ID, Was: w.want[i]}
			return
		}
	}
	w.tell(len(w.want))
	w.result <- nil
}

func (w *comparison) tell(n int) {
	p := control.ForkProgress{Done: uint64(n), Of: uint64(len(w.want)), Took: time.Since(w.began)}
	if left := len(w.want) - n; n == 0 {
		p.Left = usualTime(uint64(left))
	} else {
		p.Left = time.Duration(float64(left) / float64(n) * float64(p.Took))
	}
	w.progress(p)
}

// lost says what differs first where something came in the way of the run.
func (w *comparison) lost(reason error) error {
	w.stop()
	err := <-w.result
	if d, ok := err.(*DifferError); ok && d.Is == nil {
		d.Reason = reason
	}
	if err == nil {
		err = reason
	}
	return err
}

// differs is an error where an event is not what it was. What the run was started by, and
// whether its store had members, is not the run's to repeat.
func differs(was, is *trace.Event) error {
	if same, err := trace.Same(was, is); err != nil || same {
		return err
	}
	if a, ok := was.Payload.(*trace.Run); ok {
		if b, ok := is.Payload.(*trace.Run); ok && a.Seed == b.Seed && a.Epoch.Equal(b.Epoch) && a.Nodes == b.Nodes && a.Quota == b.Quota {
			return nil
		}
	}
	return &DifferError{At: was.ID, Was: was, Is: is}
}
