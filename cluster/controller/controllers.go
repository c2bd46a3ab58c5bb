package controller

import (
	"slices"
	"time"

	"kviz/cluster/controller/reconcile"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Controllers are what can be done to each controller by itself while kube-controller-manager
// runs. What is done outlasts the process: a controller that is stopped stays so when the
// process starts again, as one that --controllers=-name leaves out.
//
// Upstream has no way to do so to a process that runs; there it takes a restart with other flags.
type Controllers struct {
	off   map[string]bool       // those that are not to run
	lags  map[string]*sim.Delay // how much longer the runs of each take
	names []string              // of all, from the first start of the process on

	now *running // of the process that leads; nil before there is one
}

// running is the controllers of one process.
type running struct {
	process *sim.Process
	env     func(life *sim.Process, name, source string) *reconcile.Env
	all     []descriptor
	lives   map[string]*life
}

// life is one controller from its start to its end.
type life struct {
	process *sim.Process // its part of the manager's
	env     *reconcile.Env
	one     starter
}

// NewControllers are controllers that all run.
func NewControllers() *Controllers {
	return &Controllers{off: map[string]bool{}, lags: map[string]*sim.Delay{}}
}

// Names are the controllers, sorted; none before the process has led for the first time.
func (cs *Controllers) Names() []string { return cs.names }

// Slow has each run of a controller take so much longer, those that have begun too; 0 undoes it.
func (cs *Controllers) Slow(name string, d time.Duration) { cs.lag(name).Set(d) }

func (cs *Controllers) lag(name string) *sim.Delay {
	if cs.lags[name] == nil {
		cs.lags[name] = &sim.Delay{}
	}
	return cs.lags[name]
}

// run makes and starts those that are to run, in process p.
func (cs *Controllers) run(p *sim.Process, env func(*sim.Process, string, string) *reconcile.Env, all []descriptor) {
	cs.now = &running{p, env, all, map[string]*life{}}
	cs.names = nil
	for _, d := range all {
		cs.names = append(cs.names, d.name)
	}
	slices.Sort(cs.names)
	var made []*life
	for _, d := range all {
		if !cs.off[d.name] {
			made = append(made, cs.now.make(d, trace.ID{}))
		}
	}
	for _, l := range made {
		l.one.Start()
	}
}

// make makes a controller; why is its own start, where that is not the process's.
func (r *running) make(d descriptor, why trace.ID) *life {
	l := &life{process: r.process.Child(trace.Lane{Component: d.name})}
	if !why.IsZero() {
		l.process.Begin(why)
	}
	l.env = r.env(l.process, d.name, d.source)
	l.one = d.make(l.env)
	r.lives[d.name] = l
	return l
}

// there is the controller as it runs; nil while it does not.
func (cs *Controllers) there(name string) *life {
	if cs.now == nil || !cs.now.process.Alive() {
		return nil
	}
	return cs.now.lives[name]
}

// Stop ends a controller once the runs that have begun have ended; it stays down until it is
// started. It is called on the kernel's goroutine, as what follows.
func (cs *Controllers) Stop(name string, why []trace.ID, reason string) {
	cs.off[name] = true
	if l := cs.there(name); l != nil {
		l.env.Leave(func() { cs.end(name, why, reason) })
	}
}

// Crash ends a controller at once, in the midst of what it does.
func (cs *Controllers) Crash(name string, why []trace.ID, reason string) {
	cs.off[name] = true
	if l := cs.there(name); l != nil {
		l.env.Leave(func() {})
		cs.end(name, why, reason)
	}
}

func (cs *Controllers) end(name string, why []trace.ID, reason string) {
	l := cs.now.lives[name]
	delete(cs.now.lives, name)
	l.process.Kill()
	l.process.End(cs.tell(trace.ProcessExit, name, why, reason))
}

// Start begins a controller that is down, if its process runs, or else with it. It begins with
// what the informers have, and remembers nothing of before. One that is about to stop ends at once.
func (cs *Controllers) Start(name string, why []trace.ID, reason string) {
	down := cs.off[name]
	delete(cs.off, name)
	if !down || cs.now == nil || !cs.now.process.Alive() {
		return
	}
	if cs.there(name) != nil {
		cs.end(name, why, "started again before its last run had ended")
	}
	cs.begin(name, why, reason)
}

// Restart is Stop, and Start once that is done.
func (cs *Controllers) Restart(name string, why []trace.ID, reason string) {
	l := cs.there(name)
	if l == nil || cs.off[name] {
		cs.Start(name, why, reason)
		return
	}
	l.env.Leave(func() {
		cs.end(name, why, reason)
		cs.begin(name, why, reason)
	})
}

func (cs *Controllers) begin(name string, why []trace.ID, reason string) {
	i := slices.IndexFunc(cs.now.all, func(d descriptor) bool { return d.name == name })
	cs.now.make(cs.now.all[i], cs.tell(trace.ProcessStart, name, why, reason)).one.Start()
}

func (cs *Controllers) tell(kind trace.Kind, name string, why []trace.ID, reason string) trace.ID {
	lane := trace.Lane{Component: name}
	return cs.now.process.Kernel().Emit(trace.Event{Lane: lane, Kind: kind, Causes: why, Payload: &trace.Process{Process: lane.String(), Reason: reason}})
}
