// Package record is client-go's tools/record: it writes the Kubernetes Events that
// `kubectl describe` shows. An Event is an API object of its own, written on the
// side, on a best-effort basis: a component never waits for it, and the API server
// drops it after an hour.
//
// Simplified: one task per recorder instead of a broadcaster with many listeners. Those of
// the newer API events.k8s.io, which the scheduler writes, are in package events. Start
// reading at [Recorder.Event].
package record

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Clients, How: simulated.Simplified,
	What: "one task per event recorder instead of a broadcaster with many listeners",
	Seen: "kubectl get events",
})

// Upstream's numbers (tools/record/event.go).
const (
	queueLength = 1000             // Events that may wait; more are dropped
	maxTries    = 12               // for one Event
	retryEvery  = 10 * time.Second // while the API server is away
)

// Recorder writes Events in the name of one component.
type Recorder struct {
	process    *sim.Process
	client     client.Interface
	source     corev1.EventSource
	correlator *correlator
	outbox     sim.Mailbox[entry]
	offset     int64 // nanoseconds by which its names differ from other recorders'
	lastNano   int64
}

// entry is one Event on its way to the API server.
type entry struct {
	event *corev1.Event
	known bool // written before: count up
	why   trace.ID
}

// New makes a recorder and starts the task that sends its Events. host is the
// node where the component runs on one (the instance of p's lane).
func New(p *sim.Process, c client.Interface, component string) *Recorder {
	r := &Recorder{process: p, client: c, source: corev1.EventSource{Component: component, Host: p.Lane.Instance}, correlator: newCorrelator()}
	h := fnv.New32a()
	h.Write([]byte(component + "/" + r.source.Host))
	r.offset = int64(h.Sum32() % 1000)
	p.Go("events-"+component, r.send)
	return r
}

// Event records that something happened to obj: eventtype is corev1's Normal or
// Warning, reason a CamelCase word, the message a sentence. It emits event.record and
// returns; the API server gets it later.
func (r *Recorder) Event(t *sim.Task, obj runtime.Object, eventtype, reason, messageFmt string, args ...any) {
	r.EventAt(t, obj, "", eventtype, reason, messageFmt, args...)
}

// EventAt is Event about a part of obj: "spec.containers{web}".
func (r *Recorder) EventAt(t *sim.Task, obj runtime.Object, fieldPath, eventtype, reason, messageFmt string, args ...any) {
	about := corev1.ObjectReference{FieldPath: fieldPath}
	if m, err := meta.Accessor(obj); err == nil {
		about.ResourceVersion = m.GetResourceVersion()
	}
	r.record(t, client.RefOf(obj), about, eventtype, reason, messageFmt, args...)
}

// EventRef is Event for an object of which only the name is known.
func (r *Recorder) EventRef(t *sim.Task, ref trace.Ref, eventtype, reason, messageFmt string, args ...any) {
	r.record(t, ref, corev1.ObjectReference{}, eventtype, reason, messageFmt, args...)
}

// record takes down an Event about the object of ref; about has what else is said of it.
func (r *Recorder) record(t *sim.Task, ref trace.Ref, about corev1.ObjectReference, eventtype, reason, messageFmt string, args ...any) {
	about.APIVersion, about.Kind, about.Namespace, about.Name, about.UID = ref.APIVersion, ref.Kind, ref.Namespace, ref.Name, types.UID(ref.UID)
	message := messageFmt
	if len(args) > 0 {
		message = fmt.Sprintf(messageFmt, args...)
	}
	e, known, ok := r.correlator.correlate(r.make(t, about, eventtype, reason, message))
	if !ok || r.outbox.Len() >= queueLength {
		return
	}
	e.FirstTimestamp.Time = e.FirstTimestamp.Truncate(time.Second) // the correlator goes by more than the seconds of an object
	e.LastTimestamp = client.Now(t)
	id := t.Emit(trace.Event{
		Lane: r.process.Lane, Kind: trace.EventRecorded, Object: ref,
		Payload: &trace.KubeEvent{Type: eventtype, Reason: reason, Message: e.Message, From: r.source.Component, Regarding: ref, Count: e.Count},
	})
	r.outbox.Send(entry{event: e, known: known, why: id})
}

func (r *Recorder) make(t *sim.Task, about corev1.ObjectReference, eventtype, reason, message string) *corev1.Event {
	namespace := about.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	// Upstream takes the nanosecond for unique; virtual time can stand still,
	// and two components can speak of one object at the same instant.
	r.lastNano = max(t.Now().UnixNano()+r.offset, r.lastNano+1)
	now := metav1.NewTime(t.Now())
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: eventName(about.Name, r.lastNano), Namespace: namespace},
		InvolvedObject: about,
		Reason:         reason, Message: message, Type: eventtype,
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source: r.source, ReportingController: r.source.Component, ReportingInstance: r.source.Host,
	}
}

func eventName(object string, nano int64) string {
	return object + "." + strconv.FormatInt(nano, 16)
}

// send writes the Events one by one (event.go recordToSink).
func (r *Recorder) send(t *sim.Task) {
	for {
		e, ok := r.outbox.Recv(t)
		if !ok {
			return
		}
		t.SetCauses(e.why)
		for tries := 1; !r.write(t, e) && tries < maxTries; tries++ {
			delay := retryEvery
			if tries == 1 {
				delay = time.Duration(float64(delay) * t.Rand().Float64())
			}
			t.Sleep(delay)
		}
	}
}

// write reports whether the Event is written or hopeless.
func (r *Recorder) write(t *sim.Task, e entry) bool {
	var counted map[string]any
	if e.known {
		counted = map[string]any{"count": e.event.Count, "lastTimestamp": e.event.LastTimestamp, "message": e.event.Message}
	}
	return Write(t, r.client, client.Events, e.event, counted)
}

// Object is an Event of either API.
type Object interface {
	runtime.Object
	metav1.Object
}

// Write writes an Event: a patch with what has changed where it has been written before,
// and the whole where it has not, or has gone. It reports whether the Event is written or
// hopeless: only a server that cannot be reached is worth another try.
func Write(t *sim.Task, c client.Interface, events client.Resource, e Object, changed map[string]any) (done bool) {
	if changed != nil {
		patch, err := json.Marshal(changed)
		if err != nil {
			panic("record: the change of an Event does not marshal: " + err.Error())
		}
		_, err = c.Patch(t, events, e.GetNamespace(), e.GetName(), types.StrategicMergePatchType, patch, "")
		if !apierrors.IsNotFound(err) {
			return err == nil || !client.IsUnreachable(err)
		}
	}
	_, err := c.Create(t, events, e.GetNamespace(), e)
	return err == nil || !client.IsUnreachable(err)
}
