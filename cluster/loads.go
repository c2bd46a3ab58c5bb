package cluster

import (
	"fmt"
	"time"

	"kviz/cluster/load"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// inputLoad is load that a person sets (see [sim.Kernel.Enter]).
const inputLoad = "load"

// loadInput is that input.
type loadInput struct {
	Load  trace.Load
	Cause trace.ID
}

// loads is what people have set that pods have to do. It sees pods come and go, and become Ready,
// in the commits that pass, as a person at the screen would, and asks nobody.
type loads struct {
	k     *sim.Kernel
	nodes *nodes
	set   *load.Set

	due   *sim.Timer // when memory is looked at next; nil if nobody has to look
	dueAt time.Duration
}

func newLoads(k *sim.Kernel, nodes *nodes) *loads {
	l := &loads{k: k, nodes: nodes, set: load.NewSet()}
	k.AddStop(&sim.Stop{At: func(e *trace.Event) bool {
		if c, ok := e.Payload.(*trace.Commit); ok {
			l.committed(c)
		}
		return false
	}})
	return l
}

func (l *loads) committed(c *trace.Commit) {
	changed := false
	for i := range c.Changes {
		ch := &c.Changes[i]
		switch {
		case ch.Deleted:
			changed = l.set.Written(ch.Object, nil) || changed
		case ch.Value != nil:
			changed = l.set.Written(ch.Object, ch.Value.Value) || changed
		}
	}
	if changed {
		l.look(lookPause)
	}
}

// Load is verbs.Loads.
func (l *loads) Load(p trace.Load, cause trace.ID) error {
	var err error
	if stopped := l.k.Do(func() { err = l.apply(loadInput{p, cause}) }); stopped != nil {
		return stopped
	}
	return err
}

// apply runs on the kernel's goroutine.
func (l *loads) apply(in loadInput) error {
	if err := l.set.Check(&in.Load); err != nil {
		return err
	}
	l.k.Enter(inputLoad, in)
	var causes []trace.ID
	if !in.Cause.IsZero() {
		causes = []trace.ID{in.Cause}
	}
	id := l.k.Emit(trace.Event{Lane: trace.Lane{Component: trace.CompSimulation}, Kind: trace.LoadSet, Causes: causes, Object: in.Load.Target, Payload: &in.Load})
	l.set.Apply(&in.Load, l.k.Elapsed(), id)
	l.look(0)
	return nil
}

// again lets in what entered then, on the kernel's goroutine.
func (l *loads) again(in *trace.Input) (bool, error) {
	var was loadInput
	if err := in.Decode(&was); err != nil {
		return false, fmt.Errorf("what kviz load had set: %w", err)
	}
	return true, l.apply(was)
}

// Loads is verbs.Loads; on the kernel's goroutine.
func (l *loads) Loads() []*load.Figure { return l.set.List() }

// Sharing is verbs.Loads; on the kernel's goroutine.
func (l *loads) Sharing(kind, namespace, name string) int {
	return l.set.Sharing(kind, namespace, name)
}

// Pod is runtime.Loads.
func (l *loads) Pod(uid string) *load.Pod { return l.set.Pod(uid) }

// Started is runtime.Loads.
func (l *loads) Started() {
	if !l.set.Empty() {
		l.look(lookPause)
	}
}

// lookPause is how long after a change among the pods their memory is looked at: once for all that
// change together.
const lookPause = 100 * time.Millisecond

// look has memory looked at after a while, or before, if somebody has asked for that.
func (l *loads) look(after time.Duration) {
	at := l.k.Elapsed() + after
	if l.due != nil && l.dueAt <= at {
		return
	}
	if l.due != nil {
		l.due.Cancel()
	}
	l.dueAt = at
	l.due = l.k.After(after, l.squeeze)
}

// squeeze ends containers whose memory is above what they can have, and finds out when it will be
// next.
func (l *loads) squeeze() {
	l.due = nil
	var on map[string]*node
	next, any := time.Duration(0), false
	for _, p := range l.set.Pods() {
		if !p.Fills() {
			continue
		}
		if on == nil {
			on = make(map[string]*node, len(l.nodes.list))
			for _, n := range l.nodes.list {
				on[n.name] = n
			}
		}
		n := on[p.Node]
		if n == nil {
			continue
		}
		if at, ever := n.runtime.Squeeze(string(p.UID)); ever && (!any || at < next) {
			next, any = at, true
		}
	}
	if any {
		l.look(max(next-l.k.Elapsed(), 0))
	}
}
