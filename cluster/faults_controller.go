package cluster

import (
	"slices"
	"strings"
	"time"

	"kviz/cluster/controller"
	"kviz/cluster/trace"
)

// controllers are the targets controller/NAME: each controller of kube-controller-manager by
// itself. What is done to one is the machine's fault, not the process's: it is so in the next
// process, too.
type controllers struct {
	each *controller.Controllers
	of   *components
}

func (cs controllers) names() []string {
	names := slices.Clone(cs.each.Names())
	for i, name := range names {
		names[i] = "controller/" + name
	}
	return names
}

func (cs controllers) find(name string) (any, error) {
	if slices.Contains(cs.of.without, trace.CompKCM) {
		return nil, errWithout(trace.CompKCM)
	}
	name = strings.TrimPrefix(name, "controller/")
	if !slices.Contains(cs.each.Names(), name) {
		return nil, nil
	}
	return controllerTarget{cs.each, name}, nil
}

// controllerTarget is one controller.
type controllerTarget struct {
	each *controller.Controllers
	name string
}

func (t controllerTarget) Stop(why []trace.ID) error {
	t.each.Stop(t.name, why, "fault: stop")
	return nil
}

func (t controllerTarget) Crash(why []trace.ID) error {
	t.each.Crash(t.name, why, "fault: crash")
	return nil
}

func (t controllerTarget) Start(why []trace.ID) error {
	t.each.Start(t.name, why, "started again")
	return nil
}

func (t controllerTarget) Restart(why []trace.ID) error {
	t.each.Restart(t.name, why, "fault: restart")
	return nil
}

// Slow has each run take so much longer, those that have begun too; 0 undoes it.
func (t controllerTarget) Slow(d time.Duration, _ []trace.ID) error {
	t.each.Slow(t.name, d)
	return nil
}
