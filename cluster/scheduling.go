package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/scheduler"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// What enters the run (see [sim.Kernel.Enter]): a configuration of kube-scheduler, and an answer by
// hand for a pod that waits at Permit.
const (
	inputScheduler = "scheduler.config"
	inputPermit    = "scheduler.permit"
)

// permitAnswer is the second.
type permitAnswer struct {
	Pod   string // namespace/name
	Allow bool
	Cause trace.ID
}

// schedulerFile is that input.
type schedulerFile struct {
	File  []byte `json:",omitempty"` // none: the defaults
	None  bool   `json:",omitempty"`
	Cause trace.ID
}

// scheduling is kube-scheduler and its configuration, with which it is started.
type scheduling struct {
	k      *sim.Kernel
	m      *component // nil in a cluster without
	config *config.KubeSchedulerConfiguration
	told   *trace.SchedConfiguration
	runs   *scheduler.Scheduler // the one that was started last
}

// CheckScheduler says why kube-scheduler could not be started with a configuration.
func CheckScheduler(file []byte) error {
	_, _, err := scheduler.Configured(file)
	return err
}

// newScheduling makes kube-scheduler known. It tells its verdicts and scores as fits a cluster
// of so many nodes.
func newScheduling(k *sim.Kernel, components *components, servers *apiServers, cfg Config) (*scheduling, error) {
	s := &scheduling{k: k}
	var err error
	if s.config, s.told, err = scheduler.Configured(cfg.Scheduler); err != nil {
		return nil, err
	}
	if cfg.without(trace.CompScheduler) {
		return s, nil
	}
	lane := trace.Lane{Component: trace.CompScheduler}
	s.m = components.add("scheduler", lane, nil)
	s.m.start = func(p *sim.Process) {
		s.runs = scheduler.Start(p, servers.client(lane, authn.Component("kube-scheduler")), scheduler.Config{
			Configuration: s.config, Limits: cfg.Limits, WhyAnnotation: cfg.WhyAnnotation, Exit: s.m.exit,
		})
		s.m.leave = s.runs.Leave
	}
	return s, nil
}

// begin starts it when the cluster boots.
func (s *scheduling) begin(t *sim.Task) {
	if s.m == nil {
		return
	}
	causes := t.Causes()
	if s.told.File {
		causes = []trace.ID{s.tell(causes)}
	}
	s.m.begin(causes, "")
}

// tell tells of the configuration.
func (s *scheduling) tell(causes []trace.ID) trace.ID {
	return s.k.Emit(trace.Event{Lane: trace.Lane{Component: trace.CompSimulation}, Kind: trace.SchedConfigured, Causes: causes, Payload: s.told})
}

// Configure is verbs.SchedulerConfig: the file of the scheduler's static pod is replaced, and its
// kubelet restarts it. One that is down reads the file when it is started.
func (s *scheduling) Configure(file []byte, cause trace.ID) error {
	var err error
	if stopped := s.k.Do(func() { err = s.configure(schedulerFile{File: file, None: file == nil, Cause: cause}) }); stopped != nil {
		return stopped
	}
	return err
}

// configure runs on the kernel's goroutine.
func (s *scheduling) configure(f schedulerFile) error {
	if s.m == nil {
		return fmt.Errorf("%w: give the file to the scheduler that you run in its place (kube-scheduler --config)", errWithout(trace.CompScheduler))
	}
	if f.File == nil && !f.None {
		f.File = []byte{} // an empty file, which is refused
	}
	cfg, told, err := scheduler.Configured(f.File)
	if err != nil {
		return err
	}
	s.k.Enter(inputScheduler, f)
	s.config, s.told = cfg, told
	var causes []trace.ID
	if !f.Cause.IsZero() {
		causes = []trace.ID{f.Cause}
	}
	why := []trace.ID{s.tell(causes)}
	if s.m.up() {
		s.m.stop(why, "its configuration has changed")
		s.m.begin(why, "its configuration has changed")
	}
	return nil
}

// Configured is verbs.SchedulerConfig.
func (s *scheduling) Configured() (told *trace.SchedConfiguration, up bool, err error) {
	if s.m == nil {
		return nil, false, errWithout(trace.CompScheduler)
	}
	return s.told, s.m.up(), nil
}

// Permit is verbs.SchedulerConfig.
func (s *scheduling) Permit(pod string, allow bool, cause trace.ID) error {
	var err error
	if stopped := s.k.Do(func() { err = s.permit(permitAnswer{pod, allow, cause}) }); stopped != nil {
		return stopped
	}
	return err
}

// permit runs on the kernel's goroutine.
func (s *scheduling) permit(a permitAnswer) error {
	if s.m == nil {
		return errWithout(trace.CompScheduler)
	}
	if !s.m.up() {
		return errors.New("the scheduler is down, so no pod waits at Permit: kviz fault start scheduler")
	}
	var waiting []string
	for _, w := range s.runs.Waiting() {
		waiting = append(waiting, w.Pod)
	}
	if !slices.Contains(waiting, a.Pod) {
		return notAtPermit(a.Pod, waiting)
	}
	s.k.Enter(inputPermit, a)
	var why []trace.ID
	if !a.Cause.IsZero() {
		why = []trace.ID{a.Cause}
	}
	if a.Allow {
		s.runs.Allow(a.Pod, why)
	} else {
		s.runs.Reject(a.Pod, "rejected by hand", why)
	}
	return nil
}

// notAtPermit says which pods wait, since the one that was named does not.
func notAtPermit(pod string, waiting []string) error {
	const most = 10
	switch n := len(waiting); {
	case n == 0:
		return fmt.Errorf("pod %s does not wait at Permit; no pod does", pod)
	case n > most:
		return fmt.Errorf("pod %s does not wait at Permit; these do: %s and %d more", pod, strings.Join(waiting[:most], ", "), n-most)
	}
	return fmt.Errorf("pod %s does not wait at Permit; these do: %s", pod, strings.Join(waiting, ", "))
}

// again lets in what entered then, on the kernel's goroutine.
func (s *scheduling) again(in *trace.Input) (bool, error) {
	if in.What == inputPermit {
		var a permitAnswer
		if err := in.Decode(&a); err != nil {
			return false, err
		}
		return true, s.permit(a)
	}
	var f schedulerFile
	if err := in.Decode(&f); err != nil {
		return false, err
	}
	return true, s.configure(f)
}
