// Package scheduler is kube-scheduler: it gives each new pod a node.
//
// One task takes the pods from the active queue, one at a time, and runs the
// scheduling cycle (schedule_one.go): filter out the nodes that cannot run the
// pod, score the rest, take the best, assume the pod there. A task of its own
// for each pod then runs the binding cycle (binding_cycle.go), which tells the
// API server. A pod that fits nowhere waits in the unschedulable pool until
// something happens in the cluster that could help it (scheduling_queue.go).
//
// Which node is best is up to the plugins (plugins/<name>), at twelve extension
// points (framework). The informers' handlers (event_handlers.go) keep the
// cache (cache.go) and the queues up to date.
//
// Simplified: one profile; nodes are judged one after another instead of sixteen at a time, all
// at one instant after the modelled time of a cycle. DESIGN.md has the rest.
// Start reading at [Scheduler.scheduleOne].
package scheduler

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
	"kviz/cluster/client/throttle"
	"kviz/cluster/events"
	"kviz/cluster/informer"
	"kviz/cluster/leaderelection"
	"kviz/cluster/record"
	"kviz/cluster/scheduler/framework"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Scheduling, How: simulated.Simplified,
	What: "one profile; nodes are judged one after another at one instant, after the modelled time of a cycle, where upstream judges sixteen at a time",
})

// Lease is the name of the Lease in kube-system that the active copy holds.
const Lease = "kube-scheduler"

// Config says how the scheduler works. The zero value is upstream's defaults.
type Config struct {
	// Identity names this copy in the Lease kube-scheduler; default: the
	// process's lane and a random part.
	Identity string
	// Name is the schedulerName of the pods it schedules; default
	// "default-scheduler".
	Name string
	// CycleTime is the virtual time one scheduling cycle takes; default 1 ms.
	CycleTime time.Duration
	// TraceNodes is for how many nodes a cycle emits sched.filter and
	// sched.score; default 64, negative none.
	TraceNodes int
	// MostAllocated makes NodeResourcesFit prefer full nodes to empty ones.
	MostAllocated bool
	// PercentageOfNodesToScore is how many nodes to find before scoring, from
	// 100 nodes on; default (0) is 50 % less one for each 125 nodes, 5 % at
	// least.
	PercentageOfNodesToScore int
	// NoElection starts scheduling without winning the Lease first.
	NoElection bool
	// Plugins are more of them, beside the default ones (WithFrameworkOutOfTreeRegistry).
	Plugins []framework.Plugin
	// Limits are how fast each of its clients may send (clientConnection); default 50
	// requests a second, burst 100.
	Limits throttle.Limits
	// Exit ends the process because of an event, the loss of the Lease; nil:
	// it is killed.
	Exit func(why trace.ID)
}

func (cfg Config) withDefaults(p *sim.Process) Config {
	if cfg.Identity == "" {
		cfg.Identity = leaderelection.Identity(p)
	}
	if cfg.Exit == nil {
		cfg.Exit = func(trace.ID) { p.Kill() }
	}
	if cfg.Name == "" {
		cfg.Name = "default-scheduler"
	}
	if cfg.CycleTime == 0 {
		cfg.CycleTime = time.Millisecond
	}
	if cfg.TraceNodes == 0 {
		cfg.TraceNodes = 64
	}
	cfg.Limits = cfg.Limits.Or(throttle.Limits{QPS: usualQPS, Burst: usualBurst})
	return cfg
}

// How fast a client of the scheduler may send (pkg/scheduler/apis/config/v1 defaults.go).
const (
	usualQPS   = 50
	usualBurst = 100
)

// host is the machine that the scheduler runs on.
const host = "control-plane"

// Scheduler is a running scheduler.
type Scheduler struct {
	process *sim.Process
	client  client.Interface
	lease   client.Interface // the client of the leader election
	cfg     Config
	events  *events.Recorder
	// elections are recorded as core Events, as those of all components are.
	elections *record.Recorder
	pods      *informer.Informer
	nodes     *informer.Informer
	objects   *objects

	profile *profile
	queue   *schedulingQueue
	cache   *cache
	// nominator knows the pods for which room is being made.
	nominator *nominator
	// preempting are, by the UID of a pod that makes room, the victims whose eviction is under way.
	preempting map[types.UID][]*corev1.Pod

	// nextStart is where in the order of nodes the next search begins, so that
	// all nodes get their turn although only some are looked at.
	nextStart int
	scratch   scratch
}

// Start starts the scheduler's tasks in process p; they end with it. When the
// Lease is lost, p is killed, as the real one exits.
func Start(p *sim.Process, c client.Interface, cfg Config) *Scheduler {
	cfg = cfg.withDefaults(p)
	// Three clients, each with a rate limit of its own (cmd/kube-scheduler app/options
	// createClients, makeLeaderElectionConfig).
	lease, told := throttle.New(p, p.Lane, c, "leader-election", cfg.Limits), throttle.New(p, p.Lane, c, "events", cfg.Limits)
	c = throttle.New(p, p.Lane, c, "scheduler", cfg.Limits)
	s := &Scheduler{process: p, client: c, lease: lease, cfg: cfg, cache: newCache(), nominator: newNominator(), preempting: map[types.UID][]*corev1.Pod{}}
	s.objects = newObjects(p, c)
	s.profile = newProfile(withPlugins(defaultPlugins(cfg, s), cfg.Plugins))
	s.queue = newSchedulingQueue(s.profile.queueSort, s.profile.all)
	s.queue.crashed = s.warn
	s.events = events.New(p, told, cfg.Name, host)
	s.elections = record.New(p, told, cfg.Name)
	s.nodes = informer.New(p, p.Lane, c, client.Nodes, "", informer.Options{Crashed: s.warn})
	s.pods = informer.New(p, p.Lane, c, client.Pods, "", informer.Options{FieldSelector: "status.phase!=Succeeded,status.phase!=Failed", Crashed: s.warn})
	s.addHandlers()
	s.nodes.Start()
	s.pods.Start()
	s.objects.start(p, c)
	p.Go("main", s.main)
	return s
}

func (s *Scheduler) main(t *sim.Task) {
	if s.cfg.NoElection {
		s.run(t)
		return
	}
	leaderelection.Run(t, s.lease, s.elections, Lease, s.cfg.Identity, s.run, s.cfg.Exit)
}

// run schedules pods, one after another, for as long as the process lives.
func (s *Scheduler) run(t *sim.Task) {
	s.nodes.WaitForSync(t)
	s.pods.WaitForSync(t)
	s.objects.waitForSync(t)
	s.process.Go("queue", s.queue.flush)
	for {
		info := s.queue.pop(t)
		if broken := t.HandleCrashOn(info.Ref, "the scheduling cycle of the pod", func() { s.scheduleOne(t, info) }); broken != nil {
			s.crashed(t, info, broken)
		}
	}
}

// Leave gives up the Lease of a scheduler that has been stopped in an orderly
// way, so that the next one can begin at once. It runs in a task of another
// process: the scheduler's own has ended.
func (s *Scheduler) Leave(t *sim.Task) { leaderelection.Release(t, s.lease, Lease, s.cfg.Identity) }

// Pending is how many pods wait in each queue.
func (s *Scheduler) Pending() (active, backoff, unschedulable int) {
	return s.queue.active.Len(), s.queue.backoff.len(), s.queue.unschedulable.Len()
}
