package cluster

import (
	"slices"
	"strings"
	"time"

	"kviz/cluster/controller"
	"kviz/cluster/trace"
)

// controllers are the targets controller/NAME: each controller of kube-controller-manager and of
// cloud-controller-manager by itself. What is done to one is the machine's fault, not the
// process's: it is so in the next process, too.
type controllers struct {
	components *components
	of         map[string]*controller.Controllers // by the process that they are parts of
}

func (cs controllers) names() []string {
	var names []string
	for _, each := range cs.of {
		for _, name := range each.Names() {
			names = append(names, "controller/"+name)
		}
	}
	slices.Sort(names)
	return names
}

func (cs controllers) find(name string) (any, error) {
	name = strings.TrimPrefix(name, "controller/")
	for _, each := range cs.of { // of one of them at most
		if slices.Contains(each.Names(), name) {
			return controllerTarget{each, name}, nil
		}
	}
	manager := trace.CompKCM
	if slices.Contains(controller.CloudNames(), name) {
		manager = trace.CompCCM
	}
	if slices.Contains(cs.components.without, manager) {
		return nil, errWithout(manager)
	}
	return nil, nil
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
