package cluster

import (
	"slices"
	"time"

	"kviz/cluster/fault"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// component is a process that can be stopped and started again.
type component struct {
	k      *sim.Kernel
	target string // as faults name it: "scheduler", "kubelet/node-1"
	lane   trace.Lane
	start  func(*sim.Process)
	leave  func(*sim.Task) // what an orderly stop does last; may be nil
	p      *sim.Process    // nil while it is down
	exited trace.ID        // the event of its end while it is down
	pause  time.Duration   // before it is started again, after a panic
}

// components are those of the cluster, on whichever machine, in the order in which they
// were made known.
type components struct {
	k       *sim.Kernel
	list    []*component
	without []string // those that are left out (see Config.Without)
}

func newComponents(k *sim.Kernel, without []string) *components {
	return &components{k: k, without: without}
}

// add makes a component known; it does not run yet.
func (cs *components) add(target string, lane trace.Lane, start func(*sim.Process)) *component {
	m := &component{k: cs.k, target: target, lane: lane, start: start}
	cs.list = append(cs.list, m)
	return m
}

// find finds a component by its target name.
func (cs *components) find(target string) *component {
	i := slices.IndexFunc(cs.list, func(m *component) bool { return m.target == target })
	if i < 0 {
		return nil
	}
	return cs.list[i]
}

// remove forgets a component that will never run again.
func (cs *components) remove(m *component) {
	cs.list = slices.DeleteFunc(cs.list, func(o *component) bool { return o == m })
}

// names are the target names of all.
func (cs *components) names() []string {
	names := make([]string, len(cs.list))
	for i, m := range cs.list {
		names[i] = m.target
	}
	return names
}

// ofKind are those whose target is of a kind: "apiserver" and "apiserver/b".
func (cs *components) ofKind(kind string) (list []*component) {
	for _, m := range cs.list {
		if fault.TargetKind(m.target) == kind {
			list = append(list, m)
		}
	}
	return list
}

func (m *component) up() bool { return m.p != nil && m.p.Alive() }

// begin starts the process; it does nothing while it runs.
func (m *component) begin(causes []trace.ID, reason string) {
	if m.up() {
		return
	}
	m.p = m.k.NewProcess(m.lane)
	m.p.OnCrash(m.crash)
	m.p.Begin(m.k.Emit(trace.Event{Lane: m.lane, Kind: trace.ProcessStart, Causes: causes, Payload: &trace.Process{Process: m.lane.String(), Reason: reason}}))
	m.exited = trace.ID{}
	m.k.Silence(m.lane, m.exited)
	m.start(m.p)
}

// end kills the process; it does nothing while it is down.
func (m *component) end(causes []trace.ID, reason string) {
	if !m.up() {
		return
	}
	m.p.Kill()
	m.exited = m.k.Emit(trace.Event{Lane: m.lane, Kind: trace.ProcessExit, Causes: causes, Payload: &trace.Process{Process: m.lane.String(), Reason: reason}})
	m.p.End(m.exited)
	m.k.Silence(m.lane, m.exited)
}

// stop is an orderly end: SIGTERM, where end is SIGKILL.
func (m *component) stop(causes []trace.ID, reason string) {
	if !m.up() {
		return
	}
	m.end(causes, reason)
	if m.leave != nil {
		m.k.NewProcess(m.lane).Go("leave", func(t *sim.Task) {
			t.SetCauses(causes...)
			m.leave(t)
		})
	}
}

// restartPause is how long a component that has ended itself stays down. It is a
// static pod of the control plane's machine, whose kubelet starts it again; the
// back-off of one that keeps ending is left out, since what has lost its Lease
// waits for the next one and does not end before it had it.
const restartPause = time.Second

// exit ends a component by its own wish, because of an event, and starts it again.
// What a person stops or crashes stays down instead: it is there to be looked at.
func (m *component) exit(why trace.ID) {
	p := m.p
	m.k.NewProcess(trace.Lane{Component: trace.CompSimulation}).Go("restart "+m.target, func(t *sim.Task) {
		if m.p != p || !m.up() {
			return
		}
		m.end([]trace.ID{why}, "it lost its Lease")
		m.again(t, restartPause)
	})
}

// again starts a component that has ended once the pause is over, unless somebody else has.
func (m *component) again(t *sim.Task, pause time.Duration) {
	exited := m.exited
	t.Sleep(pause)
	if m.exited == exited {
		m.begin([]trace.ID{exited}, "its static pod is restarted")
	}
}

// The pauses of a component that panics again and again, doubled each time, as those of the
// containers of its static pod (pkg/kubelet MaxContainerBackOff, initial backOffPeriod).
const (
	crashPause = 10 * time.Second
	crashMax   = 5 * time.Minute
)

// crash is the end of a component at a panic that it did not contain: the process ends with
// exit status 2, as a Go program's does, and is started again, later each time. The others go on.
func (m *component) crash(broken *sim.PanicError) {
	p := m.p
	m.k.NewProcess(trace.Lane{Component: trace.CompSimulation}).Go("restart "+m.target, func(t *sim.Task) {
		if m.p != p || !m.up() {
			return
		}
		m.end(nil, broken.Brief()+", exit status 2")
		pause := max(m.pause, restartPause)
		m.pause = min(max(2*m.pause, crashPause), crashMax)
		m.again(t, pause)
	})
}
