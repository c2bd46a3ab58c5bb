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
// Which plugins there are, in which order, with which weights and arguments, a profile says;
// each schedulerName has its own (profile.go), as the configuration has it (configuration).
//
// Simplified: nodes are judged one after another instead of sixteen at a time, all
// at one instant after the modelled time of a cycle. DESIGN.md has the rest.
// Start reading at [Scheduler.scheduleOne].
package scheduler

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"kviz/cluster/client"
	"kviz/cluster/client/throttle"
	"kviz/cluster/events"
	"kviz/cluster/informer"
	"kviz/cluster/leaderelection"
	"kviz/cluster/record"
	"kviz/cluster/scheduler/configuration"
	"kviz/cluster/scheduler/framework"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Scheduling, How: simulated.Simplified,
	What: "nodes are judged one after another at one instant, after the modelled time of a cycle, where upstream judges sixteen at a time",
})

// Lease is the name of the Lease in kube-system that the active copy of the control plane's scheduler holds.
const Lease = "kube-scheduler"

// Config says how the scheduler works. The zero value is upstream's defaults.
type Config struct {
	// Identity names this copy in the Lease kube-scheduler; default: the
	// process's lane and a random part.
	Identity string
	// Configuration is what it was configured with (--config); nil is upstream's defaults.
	Configuration *config.KubeSchedulerConfiguration
	// CycleTime is the virtual time one scheduling cycle takes; default 1 ms.
	CycleTime time.Duration
	// TraceNodes is for how many nodes a cycle emits sched.filter and
	// sched.score; default all of up to [WholeMatrix], 16 of more, negative none.
	TraceNodes int
	// Lease is the name of the Lease in kube-system; default [Lease].
	Lease string
	// Host is the machine that it runs on, for its Events; default: the control plane's.
	Host string
	// WhyAnnotation has it annotate a pod that fits nowhere with why, and with what would have to
	// change ([WhyAnnotation]); experimental.
	WhyAnnotation bool
	// NoElection starts scheduling without winning the Lease first.
	NoElection bool
	// Name is the schedulerName of the first profile; it is filled in.
	Name string
	// Plugins are more of them, which every profile has (WithFrameworkOutOfTreeRegistry).
	Plugins []framework.Plugin
	// Limits are how fast each of its clients may send; default is clientConnection of the
	// configuration, which is 50 requests a second and a burst of 100 if it does not say.
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
	if cfg.Configuration == nil {
		cfg.Configuration = configuration.Default()
	}
	cfg.Name = cfg.Configuration.Profiles[0].SchedulerName
	cfg.NoElection = cfg.NoElection || !cfg.Configuration.LeaderElection.LeaderElect
	if cfg.Lease == "" {
		cfg.Lease = Lease
	}
	if cfg.Host == "" {
		cfg.Host = host
	}
	if cfg.CycleTime == 0 {
		cfg.CycleTime = time.Millisecond
	}
	cfg.Limits = cfg.Limits.Or(throttle.Limits{QPS: cfg.Configuration.ClientConnection.QPS, Burst: int(cfg.Configuration.ClientConnection.Burst)})
	return cfg
}

const (
	// WholeMatrix is up to how many nodes the trace tells every verdict and score.
	WholeMatrix = 64
	// someNodes is for how many nodes a cycle tells them where there are more: in a large
	// cluster they would be a third of all events, and nobody reads the fortieth of a
	// thousand like it.
	someNodes = 16
)

// shows is for how many nodes a cycle tells them now.
func (s *Scheduler) shows() int {
	switch {
	case s.cfg.TraceNodes != 0:
		return max(s.cfg.TraceNodes, 0)
	case len(s.cache.list()) > WholeMatrix:
		return someNodes
	}
	return WholeMatrix
}

// host is the machine that the control plane's scheduler runs on.
const host = "control-plane"

// Scheduler is a running scheduler.
type Scheduler struct {
	process *sim.Process
	client  client.Interface
	lease   client.Interface // the client of the leader election
	cfg     Config
	// elections are recorded as core Events, as those of all components are.
	elections *record.Recorder
	pods      *informer.Informer
	nodes     *informer.Informer
	objects   *objects

	profiles []*profile // as they are configured
	// profile is that of the pod whose cycle runs: there is one at a time.
	profile *profile
	// offer is what that cycle has from the one before it.
	offer offer
	queue *schedulingQueue
	cache *cache
	// nominator knows the pods for which room is being made.
	nominator *nominator
	// waiting are the pods that wait at Permit, by UID.
	waiting map[types.UID]*waitingPod
	// preempting are, by the UID of a pod that makes room, the victims whose eviction is under way.
	preempting map[types.UID][]*corev1.Pod

	// nextStart is where in the order of nodes the next search begins, so that
	// all nodes get their turn although only some are looked at.
	nextStart int
	scratch   scratch
	// why is the annotation of the pod whose cycle ends without a node; "" is none.
	why string
}

// Check says what is wrong with a configuration that could be read: a plugin that does not
// exist, or whose arguments are invalid. A scheduler is not started with it.
func Check(cfg *config.KubeSchedulerConfiguration) error {
	s := &Scheduler{cache: newCache(), objects: &objects{}}
	return s.configure(cfg, nil)
}

// configure makes the profiles.
//
// Mirrors pkg/scheduler/profile/profile.go NewMap.
func (s *Scheduler) configure(cfg *config.KubeSchedulerConfiguration, more []framework.Plugin) error {
	for i := range cfg.Profiles {
		from := cfg.Profiles[i]
		if from.PercentageOfNodesToScore == nil {
			from.PercentageOfNodesToScore = cfg.PercentageOfNodesToScore
		}
		p, err := newProfile(s, &from, more)
		if err != nil {
			return fmt.Errorf("initializing profiles: creating profile for scheduler name %s: %w", from.SchedulerName, err)
		}
		s.profiles = append(s.profiles, p)
	}
	s.profile = s.profiles[0]
	return nil
}

// longestBackoff bounds what a configuration says: its seconds need not fit into a duration.
const longestBackoff = 1000 * time.Hour

func seconds(n int64) time.Duration {
	return time.Duration(min(n, int64(longestBackoff/time.Second))) * time.Second
}

// Start starts the scheduler's tasks in process p; they end with it. When the
// Lease is lost, p is killed, as the real one exits. It panics at a configuration that
// [Check] refuses.
func Start(p *sim.Process, c client.Interface, cfg Config) *Scheduler {
	cfg = cfg.withDefaults(p)
	// Three clients, each with a rate limit of its own (cmd/kube-scheduler app/options
	// createClients, makeLeaderElectionConfig).
	lease, told := throttle.New(p, p.Lane, c, "leader-election", cfg.Limits), throttle.New(p, p.Lane, c, "events", cfg.Limits)
	c = throttle.New(p, p.Lane, c, "scheduler", cfg.Limits)
	s := &Scheduler{process: p, client: c, lease: lease, cfg: cfg, cache: newCache(), nominator: newNominator(), preempting: map[types.UID][]*corev1.Pod{}, waiting: map[types.UID]*waitingPod{}}
	s.objects = newObjects(p, c)
	if err := s.configure(cfg.Configuration, cfg.Plugins); err != nil {
		panic("scheduler: " + err.Error())
	}
	s.queue = newSchedulingQueue(s.profiles, backoffs{seconds(cfg.Configuration.PodInitialBackoffSeconds), seconds(cfg.Configuration.PodMaxBackoffSeconds)})
	s.queue.crashed = s.warn
	for _, profile := range s.profiles {
		profile.events = events.New(p, told, profile.name, cfg.Host)
	}
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
	leaderelection.Run(t, s.lease, s.elections, s.cfg.Lease, s.cfg.Identity, s.run, s.cfg.Exit)
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
func (s *Scheduler) Leave(t *sim.Task) {
	leaderelection.Release(t, s.lease, s.cfg.Lease, s.cfg.Identity)
}

// Pending is how many pods wait in each queue.
func (s *Scheduler) Pending() (active, backoff, unschedulable int) {
	return s.queue.active.Len(), s.queue.backoff.len(), s.queue.unschedulable.Len()
}
