// Package events is client-go's tools/events: it writes Events of the group events.k8s.io,
// as kube-scheduler does. They are the same objects as core Events, which most components
// still write (package record), with more detail: what was done (action), by whom
// (reportingController, reportingInstance), with what else (related); and they are counted
// differently. A repeated Event is not written each time: the second occurrence makes it a
// series, and later ones are only counted and written every half hour, and when the series
// has ended.
//
// The worked idea. Pod web cannot be scheduled, three times in two minutes:
//
//	0:00  FailedScheduling            create
//	0:40  FailedScheduling            patch: series count 2, lastObservedTime 0:40
//	2:00  FailedScheduling            nothing; count 3 is remembered
//	8:00  (six minutes of silence)    patch: count 3
//
// It is the same Event only if the pod's resourceVersion is the same, too.
//
// Mirrors client-go tools/events. Simplified: one task sends the Events in order, where
// upstream has a goroutine for each. Start reading at [Recorder.Eventf].
package events

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
	"kviz/cluster/record"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Clients, How: simulated.Simplified,
	What: "the scheduler's Events are sent by one task in order, instead of by one each",
	Seen: "kubectl get events",
})

// Upstream's numbers (tools/events/event_broadcaster.go).
const (
	maxTries     = 12
	retryEvery   = 10 * time.Second // and up to a quarter more, while the API server is away
	refreshEvery = 30 * time.Minute // a series is written, so that its Event is not forgotten
	finishAfter  = 6 * time.Minute  // of silence a series has ended
	queueLength  = 1000             // Events that may wait; more are dropped
)

// Recorder writes Events in the name of one component.
type Recorder struct {
	process    *sim.Process
	client     client.Interface
	controller string
	instance   string
	known      map[key]*eventsv1.Event // what happened lately
	order      []key                   // of known, as it came
	outbox     sim.Mailbox[entry]
	lastNano   int64
}

// key is what makes two Events the same.
type key struct {
	typ, action, reason string
	regarding, related  corev1.ObjectReference
}

// entry is one Event on its way to the API server.
type entry struct {
	event *eventsv1.Event
	why   trace.ID
}

// New makes a recorder of the component on a machine, and starts the tasks that send its
// Events.
func New(p *sim.Process, c client.Interface, controller, host string) *Recorder {
	r := &Recorder{process: p, client: c, controller: controller, instance: controller + "-" + host, known: map[key]*eventsv1.Event{}}
	p.Go("events-"+controller, r.send)
	p.Go("event-series-"+controller, r.keepSeries)
	return r
}

// Eventf records that something happened to regarding, and to related, which may be nil.
// eventtype is corev1's Normal or Warning, reason and action are CamelCase words, the note
// is a sentence. It emits event.record and returns; the API server gets it later.
func (r *Recorder) Eventf(t *sim.Task, regarding, related runtime.Object, eventtype, reason, action, note string, args ...any) {
	if len(args) > 0 {
		note = fmt.Sprintf(note, args...)
	}
	ref := client.RefOf(regarding)
	e := r.make(t, reference(regarding), eventtype, reason, action, note)
	k := key{typ: eventtype, action: action, reason: reason, regarding: e.Regarding}
	if related != nil {
		k.related = reference(related)
		e.Related = &k.related
	}
	count, write := r.count(k, e)
	id := t.Emit(trace.Event{
		Lane: r.process.Lane, Kind: trace.EventRecorded, Object: ref,
		Payload: &trace.KubeEvent{Type: eventtype, Reason: reason, Message: note, From: r.controller, Regarding: ref, Count: count},
	})
	if write != nil && r.outbox.Len() < queueLength {
		r.outbox.Send(entry{event: write, why: id})
	}
}

// count remembers the Event; write is what is to be written of it, nil for what is only
// counted.
func (r *Recorder) count(k key, e *eventsv1.Event) (count int32, write *eventsv1.Event) {
	was := r.known[k]
	switch {
	case was == nil:
		r.known[k] = e
		r.order = append(r.order, k)
		return 1, e.DeepCopy()
	case was.Series == nil:
		was.Series = &eventsv1.EventSeries{Count: 2, LastObservedTime: e.EventTime}
		return 2, was.DeepCopy()
	}
	was.Series.Count++
	was.Series.LastObservedTime = e.EventTime
	return was.Series.Count, nil
}

func (r *Recorder) make(t *sim.Task, regarding corev1.ObjectReference, eventtype, reason, action, note string) *eventsv1.Event {
	namespace := regarding.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	// Upstream takes the nanosecond for unique; virtual time can stand still.
	r.lastNano = max(t.Now().UnixNano(), r.lastNano+1)
	return &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Name: regarding.Name + "." + strconv.FormatInt(r.lastNano, 16), Namespace: namespace},
		EventTime:           metav1.NewMicroTime(t.Now()),
		ReportingController: r.controller, ReportingInstance: r.instance,
		Action: action, Reason: reason, Regarding: regarding, Note: note, Type: eventtype,
	}
}

func reference(obj runtime.Object) corev1.ObjectReference {
	ref := client.RefOf(obj)
	out := corev1.ObjectReference{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name, UID: types.UID(ref.UID)}
	if m, err := meta.Accessor(obj); err == nil {
		out.ResourceVersion = m.GetResourceVersion()
	}
	return out
}

// send writes the Events one by one (attemptRecording).
func (r *Recorder) send(t *sim.Task) {
	for {
		e, ok := r.outbox.Recv(t)
		if !ok {
			return
		}
		t.SetCauses(e.why)
		for tries := 1; !r.write(t, e.event) && tries < maxTries; tries++ {
			t.Sleep(retryEvery + time.Duration(t.Rand().Float64()*float64(retryEvery)/4))
		}
	}
}

// write reports whether the Event is written or hopeless (recordEvent).
func (r *Recorder) write(t *sim.Task, e *eventsv1.Event) bool {
	var series map[string]any
	if e.Series != nil {
		series = map[string]any{"series": e.Series}
	}
	return record.Write(t, r.client, client.NewEvents, e, series)
}

// keepSeries writes series now and then, and forgets what has not happened for a while
// (refreshExistingEventSeries, finishSeries).
func (r *Recorder) keepSeries(t *sim.Task) {
	for n := 1; ; n++ {
		t.Sleep(finishAfter)
		t.SetCauses()
		ended := t.Now().Add(-finishAfter)
		r.order = slices.DeleteFunc(r.order, func(k key) bool {
			e := r.known[k]
			last := e.EventTime.Time
			if e.Series != nil {
				last = e.Series.LastObservedTime.Time
			}
			over := last.Before(ended)
			if e.Series != nil && (over || n%int(refreshEvery/finishAfter) == 0) {
				r.outbox.Send(entry{event: e.DeepCopy()})
			}
			if over {
				delete(r.known, k)
			}
			return over
		})
	}
}
