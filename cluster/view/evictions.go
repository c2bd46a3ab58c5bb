package view

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/trace"
)

// Eviction is an answer of the API server to somebody who asked for a pod's eviction.
type Eviction struct {
	Pod     trace.Ref // without a UID
	User    string
	Client  string
	At      time.Duration
	Event   trace.ID // request.done
	Code    int
	Message string
}

// Granted reports whether the pod was to go.
func (e *Eviction) Granted() bool { return e.Code < http.StatusBadRequest }

// by is who asked: "kubectl drain" is no more than kubectl here.
func (e *Eviction) by() string { return orElse(program(e.Client), e.User) }

// program is a user agent without its version.
func program(agent string) string {
	name, _, _ := strings.Cut(agent, "/")
	if name == trace.CompKubelet {
		return agent
	}
	return name
}

// maxEvictions is how many answers are kept.
const maxEvictions = 256

// Evictions lists the last answers (at most 256), oldest first.
func (s *State) Evictions() []Eviction { return last(s.evictions, maxEvictions) }

// evictionAnswered notes the answer to an eviction.
func (b *Builder) evictionAnswered(e *trace.Event, r *Request) {
	if r.Subresource != "eviction" || r.Verb != "create" {
		return
	}
	b.s.evictions = recent(b.s.evictions, Eviction{
		Pod: trace.Ref{APIVersion: "v1", Kind: "Pod", Namespace: r.Namespace, Name: r.Name}, User: r.User, Client: r.Client,
		At: e.At, Event: e.ID, Code: r.Code, Message: r.Message,
	}, maxEvictions)
}

// Refusals are the answers that refused the eviction of one pod since it was last granted: how many
// are kept, the first of them and the last.
type Refusals struct {
	N           int
	First, Last Eviction
}

// forgotten is after how long nobody is thought to wait for an eviction any more: kubectl drain asks
// again every 5 s.
const forgotten = 5 * time.Minute

// RefusalsOf are those of a pod; nil where its eviction was not refused, or long ago.
func (s *State) RefusalsOf(pod *Object) *Refusals {
	var r Refusals
	list := s.Evictions()
	for i := len(list) - 1; i >= 0; i-- {
		e := list[i]
		if e.Pod.Namespace != pod.Namespace() || e.Pod.Name != pod.Name() {
			continue
		}
		if e.Granted() || e.Event.Compare(pod.Created) < 0 { // of another pod of that name
			break
		}
		if r.N++; r.N == 1 {
			r.Last = e
		}
		r.First = e
	}
	if r.N == 0 || s.At-r.Last.At > forgotten {
		return nil
	}
	return &r
}

// Says is "refused 3 times to kubectl, last 4 s ago: Cannot evict pod as …".
func (r *Refusals) Says(s *State) string {
	return fmt.Sprintf("refused %s to %s, last %s ago: %s", times(r.N), r.Last.by(), seconds(s.At-r.Last.At), strings.TrimSuffix(r.Last.Message, "."))
}

// evictionRefused says why somebody who wants a pod to go has to wait.
func (s *State) evictionRefused(o *Object) *Reason {
	pod, ok := o.Value.(*corev1.Pod)
	if !ok || o.Deleting() {
		return nil
	}
	r := s.RefusalsOf(o)
	if r == nil {
		return nil
	}
	a := &Reason{Says: fmt.Sprintf("The eviction of %s was %s", o.Ref, r.Says(s))}
	budgets := s.BudgetsOf(pod)
	for _, b := range budgets {
		k := Keeper{What: b.Of.String(), Why: b.Says, Good: b.Allowed > 0, Ref: b.Of, Event: b.Changed}
		if len(budgets) == 1 && k.Good {
			k.Why += "; the next try may succeed"
		}
		a.From = append(a.From, k)
	}
	if len(budgets) > 1 {
		a.From = append(a.From, Keeper{What: "an eviction", Why: "is refused for a pod that several budgets count, whatever they allow: one of them has to go, or to select less"})
	}
	return a
}

// drained says what a node waits for that somebody drains: it is cordoned, and pods on it were to go.
func (s *State) drained(o *Object) *Reason {
	node, ok := o.Value.(*corev1.Node)
	if !ok || !node.Spec.Unschedulable {
		return nil
	}
	var kept, going []Keeper
	s.EachObject("pods", "", func(p *Object) bool {
		pod, ok := p.Value.(*corev1.Pod)
		if !ok || pod.Spec.NodeName != o.Name() {
			return true
		}
		if r := s.RefusalsOf(p); r != nil && !p.Deleting() {
			why := r.Says(s)
			for _, b := range s.BudgetsOf(pod) {
				why += "; " + b.Of.String() + ": " + b.Says
			}
			kept = append(kept, Keeper{What: "pod " + p.Ref.Key(), Why: why, Ref: p.Ref, Event: r.Last.Event})
		} else if p.Deleting() {
			going = append(going, Keeper{What: "pod " + p.Ref.Key(), Why: s.waitsOn(p, pod), Good: true, Ref: p.Ref, Event: p.Changed})
		}
		return true
	})
	if len(kept)+len(going) == 0 {
		return nil
	}
	var parts []string
	if n := len(kept); n > 0 {
		parts = append(parts, fmt.Sprintf("the eviction of %s was refused", count(n, "pod")))
	}
	if n := len(going); n > 0 {
		parts = append(parts, fmt.Sprintf("%s %s being deleted", count(n, "pod"), isAre(n)))
	}
	return &Reason{Says: fmt.Sprintf("%s is cordoned (spec.unschedulable), so no new pod comes to it, and is not empty yet: %s", o.Ref, joined(parts)), From: told(append(kept, going...))}
}
