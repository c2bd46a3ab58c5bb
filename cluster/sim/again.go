package sim

import (
	"fmt"
	"slices"
	"time"

	"kviz/cluster/trace"
)

// Again runs a run again: what entered it from outside enters at the same places.
type Again struct {
	// Inputs are what entered, in order.
	Inputs []*trace.Input
	// Let lets one in, on the kernel's goroutine. It reports false while something real
	// that it waits for has not happened yet, and is then called again a little later.
	// It is not called for the kernel's own inputs.
	Let func(*trace.Input) (bool, error)
	// To is the event after which the cluster stops; from there on it is live.
	To uint64
	// Ended is called then, before anything else enters: with nil, or with why an
	// input could not enter, which is where the run ends.
	Ended func(error)

	standing uint64       // the event at which it stands for what entered in the midst of a step
	stalled  []*Operation // in the order in which they were taken out of the way
	asked    []*asked     // in the order in which they came
	waits    time.Time    // since when the next input is not let in
}

// LostError says that the repeated run has not reached the place at which an input
// entered.
type LostError struct {
	Input *trace.Input
	Why   string
}

// Error names the input and the reason.
func (e *LostError) Error() string {
	return fmt.Sprintf("input %d (%s) cannot enter again: %s", e.Input.Number, e.Input.What, e.Why)
}

// standsAt reports whether the cluster is to stand after this event, in the midst of a
// step: because something entered there, or because it is the last.
func (a *Again) standsAt(e *trace.Event) bool {
	if a == nil || e.Outside() || e.ID.Seq != a.To && (len(a.Inputs) == 0 || a.Inputs[0].Within != e.ID.Seq) {
		return false
	}
	a.standing = e.ID.Seq
	return true
}

// Repeating reports whether a run is being run again.
func (k *Kernel) Repeating() bool { return k.again != nil }

// letIn lets the next input in if this is its place, and reports whether the kernel should
// look again before it does anything else.
func (k *Kernel) letIn() bool {
	a := k.again
	if a == nil {
		return false
	}
	if k.last.Seq >= a.To {
		k.goLive(nil)
		return true
	}
	var in *trace.Input
	if len(a.Inputs) > 0 {
		in = a.Inputs[0]
	}
	if a.standing != 0 && (in == nil || in.Within != a.standing) {
		a.standing, k.gate.standing = 0, false
		return true
	}
	if in == nil || in.Within == 0 && (k.steps < in.Steps || k.within() != 0) || in.Within > k.last.Seq {
		return false // a task that stood in the midst of its last step has not ended it, for one
	}
	if in.Within != a.standing || in.Within == 0 && k.steps > in.Steps {
		k.goLive(&LostError{in, "the run has passed its place"})
		return true
	}
	k.reach(in.At)
	entered, err := k.enterAgain(in)
	switch {
	case err != nil:
		k.goLive(&LostError{in, err.Error()})
	case entered:
		a.Inputs, a.waits = a.Inputs[1:], time.Time{}
	case a.waits.IsZero():
		a.waits = time.Now()
	case time.Since(a.waits) > storeTimeout:
		k.goLive(&LostError{in, "what it waits for has not come"})
	default:
		k.inbox.wait(healthyPoll)
	}
	return true
}

// storeTimeout is for how long of real time the store is waited for to do what it did before.
const storeTimeout = 20 * time.Second

func (k *Kernel) enterAgain(in *trace.Input) (entered bool, err error) {
	var number uint64
	switch in.What {
	case InputTask:
		var key string
		if err := in.Decode(&key); err != nil {
			return false, err
		}
		i := slices.IndexFunc(k.again.asked, func(a *asked) bool { return a.key == key })
		if i < 0 {
			return false, nil
		}
		fn := k.again.asked[i].fn
		k.again.asked = slices.Delete(k.again.asked, i, i+1)
		k.guard("inbox", fn)
		return true, nil
	case InputStalled:
		if err := in.Decode(&number); err != nil {
			return false, err
		}
		if len(k.timers) == 0 || k.timers[0].await == nil || k.timers[0].await.number != number {
			return false, fmt.Errorf("operation %d of the store is not due", number)
		}
		k.Enter(in.What, number)
		k.timers.pop().await.stall()
		return true, nil
	case InputLanded:
		if err := in.Decode(&number); err != nil {
			return false, err
		}
		for _, o := range k.again.stalled {
			if o.number == number && !o.over {
				if o.finished() {
					k.Enter(in.What, number)
					o.settle(false)
				}
				return o.over, nil
			}
		}
		return false, fmt.Errorf("operation %d of the store is not under way", number)
	}
	k.guard("inbox", func() { entered, err = k.again.Let(in) })
	return entered || k.failure != nil, err
}

// goLive ends the repetition: the cluster is paused, and from here on it is live.
func (k *Kernel) goLive(err error) {
	a := k.again
	k.again, k.pace.free = nil, false
	k.repeating.Store(false)
	k.pace.anchor(k.now)
	k.stand()
	for _, o := range a.stalled {
		if !o.over && o.finished() {
			k.inbox.put(o.landed, true)
		}
	}
	if a.Ended != nil {
		a.Ended(err)
	}
	for _, one := range a.asked {
		k.inbox.put(one.fn, one.control)
	}
}
