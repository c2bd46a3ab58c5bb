package cluster

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/inert"
	"kviz/cluster/record"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.API, How: simulated.Absent, In: "cluster/inert",
	What: "some kinds and fields are accepted and stored, and nothing acts on them: autoscalers, ingresses, network policies, devices' drivers, and some fields of pods",
	Seen: "the Warning to who writes such an object, the Event NotSimulated about it in kubectl describe (one for each part, at first; of many objects at once only the first 50), kviz why, the object pane",
})

// notSimulated warns the writer of an object of what nothing acts on, and records an Event about the object
// for everybody else: kubectl describe has no Warning of another one's write.
//
// The Events are kviz' own (reportingController kviz), about what a person, or a program from outside, wrote: not about
// the pods that controllers make of it, and not again when the object is written again. A client that
// makes ten thousand such objects gets Events about the first of them (see [noteBurst]).
type notSimulated struct {
	k        *sim.Kernel
	servers  *apiServers
	recorder *record.Recorder // nil before the first Event
	tokens   float64
	last     time.Duration
}

const (
	// notSimulatedReason is the reason of these Events.
	notSimulatedReason = "NotSimulated"
	// noteBurst is how many of these Events there are at once, and noteEvery how long until one more
	// may be: they tell people something, who read no more than that.
	noteBurst = 50
	noteEvery = time.Second
	// notesAWrite is how many there are about one write.
	notesAWrite = 4
)

func newNotSimulated(k *sim.Kernel, servers *apiServers) *notSimulated {
	return &notSimulated{k: k, servers: servers, tokens: noteBurst}
}

// start starts what records the Events: no part of a Kubernetes cluster, so the lane is kviz' own.
func (n *notSimulated) start() {
	lane := trace.Lane{Component: trace.CompSimulation}
	user := authn.User{Name: trace.CompSimulation, Groups: []string{authn.Masters, authn.Authenticated}}
	n.recorder = record.New(n.k.NewProcess(lane), n.servers.client(lane, user), trace.CompSimulation)
}

// Warnings implements [handlers.Inert].
func (*notSimulated) Warnings(gk schema.GroupKind, subresource string, obj, old runtime.Object) (unacted, assumed []string) {
	return warnings(gk, subresource, obj, old)
}

// Whole implements [handlers.Inert].
func (*notSimulated) Whole(gk schema.GroupKind) bool { return inert.Whole(gk) }

// Note implements [handlers.Inert].
func (n *notSimulated) Note(t *sim.Task, obj runtime.Object, says []string) {
	for i, text := range says {
		if i == notesAWrite || !n.accept(t.Elapsed()) {
			return
		}
		if n.recorder == nil {
			n.start()
		}
		if i == notesAWrite-1 && len(says) > notesAWrite {
			text = fmt.Sprintf("and %d more parts of it have no effect: kviz why tells them", len(says)-i)
		}
		n.recorder.Event(t, obj, corev1.EventTypeWarning, notSimulatedReason, "%s", text)
	}
}

// accept takes one of the Events that may be now.
func (n *notSimulated) accept(now time.Duration) bool {
	n.tokens = min(noteBurst, n.tokens+(now-n.last).Seconds()/noteEvery.Seconds())
	n.last = now
	if n.tokens < 1 {
		return false
	}
	n.tokens--
	return true
}
