package scheduler

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/scheduler/framework"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// What is told of events that leave pods where they are is bounded: of each event, what it means to
// the first pods of the pool; of each pod, each kind of event once for each set of plugins that said no.
const (
	maxStays = 16
	maxKinds = 32
)

// moveReason is why an event moves a pod: a plugin that had rejected the pod expects that it helps.
type moveReason struct {
	about     string
	plugin    string
	noHint    bool
	meanwhile string // the event, if it came during the attempt
}

// about names the object of an event.
func about(old, new runtime.Object) string {
	obj := new
	if obj == nil {
		obj = old
	}
	if obj == nil {
		return ""
	}
	return client.RefOf(obj).Key()
}

// stays tells that an event leaves a pod in the unschedulable pool. q.asked are the plugins that said so.
func (q *schedulingQueue) stays(t *sim.Task, info *framework.QueuedPodInfo, event, about string) {
	if info.Gate != "" || len(info.Stayed) >= maxKinds {
		return
	}
	key := event + " " + strings.Join(q.asked, " ")
	if info.Stayed[key] {
		return
	}
	if info.Stayed == nil {
		info.Stayed = map[string]bool{}
	}
	info.Stayed[key] = true
	t.Emit(trace.Event{
		Kind: trace.SchedStay, Object: info.Ref, Causes: distinct(append([]trace.ID{info.Cause}, t.Causes()...)),
		Payload: &trace.SchedQueueStay{Pod: info.Key, Event: event, About: about, Asked: slices.Clone(q.asked)},
	})
}
