// Package request is one request on its way through the API server: which task serves
// it, what it is about, and where it stands in the trace. In Kubernetes that is the
// context that every handler gets, and handlers.RequestScope (apiserver
// pkg/endpoints/handlers/rest.go). Whatever else a stage needs is an argument, and
// what it makes is a result; what it did, it records here. Start reading at [Scope],
// then [Request].
package request

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Longest is kube-apiserver's --request-timeout.
const Longest = time.Minute

// Scope is one request on its way.
type Scope struct {
	Task   *sim.Task
	Number uint64        // by which the trace knows it
	Began  time.Duration // when it came, in virtual time
	Ref    trace.Ref     // the object that it is about, as far as is known
	Last   trace.ID      // the newest event of the request: the cause of the next

	Bulk Bulk // see Offload
	// TimedOut, if not nil, answers the client when the request's time is over while a part of
	// it is offloaded.
	TimedOut func()
	Client   context.Context // ends when the client has gone; nil for one that does not go
	Sender   string          // the user, once that is known
	Parts    *Parts          // those of all requests; nil where they are not counted

	Refused  string     // the stage that ended it
	Warnings []string   // for the headers Warning of its answer
	Commits  []trace.ID // what it wrote

	// Audit is the request's record in the audit log; nil if it is not logged. What the
	// authenticators have it say is known before there is one.
	Audit  Audit
	Proven []authn.Annotation

	space  *space
	staged int
	caused int
}

// A request's stage events live and die together, so their payloads and causes are
// made in one piece; without the rest of the scope, which the trace would keep alive.
type space struct {
	stages [10]trace.Stage // few requests have more
	causes [16]trace.ID
}

// NewScope begins a request's.
func NewScope(t *sim.Task, number uint64) Scope {
	return Scope{Task: t, Number: number, Began: t.Elapsed(), space: &space{}}
}

// Now is the virtual time as objects carry it: in seconds.
func (s *Scope) Now() metav1.Time { return metav1.NewTime(s.Task.Now().Truncate(time.Second)) }

// Pause lets the modelled time of a part of the pipeline pass.
func (s *Scope) Pause(d time.Duration) {
	if d > 0 {
		s.Task.Sleep(d)
	}
}

// Ask says that what the task does from here on is because of the request.
func (s *Scope) Ask() *sim.Task {
	s.Task.SetCauses(s.Last)
	return s.Task
}

// Hear notes an answer of somebody outside who was asked; zero is none.
func (s *Scope) Hear(answered trace.ID) {
	if !answered.IsZero() {
		s.Last = answered
	}
}

// Annotate adds an annotation to the request's audit events, where it has any
// (apiserver pkg/audit AddAuditAnnotation).
func (s *Scope) Annotate(key, value string) {
	if s.Audit != nil {
		s.Audit.Annotate(key, value)
	}
}

// NoteBody has the audit log note the decoded body, where anything is written.
func (s *Scope) NoteBody(req *Request, kind *registry.Kind, obj runtime.Object) {
	if s.Audit != nil {
		s.Audit.Body(req, kind, obj)
	}
}

// Audit is a request's record in the audit log.
type Audit interface {
	Annotate(key, value string)
	Body(req *Request, kind *registry.Kind, obj runtime.Object)
}

// Pass notes that a stage let the request through, and what it did.
func (s *Scope) Pass(stage, by, note string, diff []trace.FieldDiff) {
	st := s.NewStage()
	*st = trace.Stage{Request: s.Number, Stage: stage, By: by, Verdict: "pass", Note: note, Diff: diff}
	s.Tell(st)
}

// Refusal is implemented by an error that knows better than the stage that it ends
// who refused the request.
type Refusal struct {
	Stage string        // "" for the stage that it ends
	By    string        //
	Took  time.Duration // virtual; of the call of a server outside
	Err   error         // what the client hears; nil for the error itself
}

// Refuse notes that a stage ended the request, and gives the error back.
func (s *Scope) Refuse(stage, by string, err error) error {
	var took time.Duration
	if e, ok := err.(interface{ Refusal() Refusal }); ok {
		r := e.Refusal()
		by, took = r.By, r.Took
		if r.Stage != "" {
			stage = r.Stage
		}
		if r.Err != nil {
			err = r.Err
		}
	}
	s.Refused = stage
	st := StatusOf(err)
	s.Tell(&trace.Stage{Request: s.Number, Stage: stage, By: by, Verdict: "refuse", Note: st.Message, Code: int(st.Code), Took: took})
	return err
}

// Tell emits the event of a stage.
func (s *Scope) Tell(st *trace.Stage) {
	s.Last = s.Task.Emit(trace.Event{Kind: trace.RequestStage, Object: s.Ref, Causes: s.Because(), Payload: st})
}

// NewStage is an empty payload for Tell.
func (s *Scope) NewStage() *trace.Stage {
	if s.space == nil || s.staged == len(s.space.stages) {
		return &trace.Stage{}
	}
	s.staged++
	return &s.space.stages[s.staged-1]
}

// Because is the newest event of the request, as the cause of the next.
func (s *Scope) Because() []trace.ID {
	if s.space == nil || s.caused == len(s.space.causes) {
		return []trace.ID{s.Last}
	}
	s.caused++
	at := s.space.causes[s.caused-1 : s.caused : s.caused]
	at[0] = s.Last
	return at
}
