package view

import (
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"kviz/cluster/trace"
)

// Actor is one identity of a controller manager from outside, as a real kube-controller-manager: each of
// its controllers has a ServiceAccount of its own. What it decides, and why, is not in the trace; what it
// writes is.
type Actor struct {
	gen
	User   string
	Client string // "kube-controller-manager"
	Writes uint64 // that the store took; renewals of Leases are not among them
	Verb   string // of the last: "create"
	Object trace.Ref
	Event  trace.ID // store.commit
	At     time.Duration
}

func (a *Actor) seal() {}

// Name is the controller's, as far as the identity tells: "deployment-controller".
func (a *Actor) Name() string { return strings.TrimPrefix(a.User, accounts) }

// By is who it is.
func (a *Actor) By() string { return fmt.Sprintf("%s (%s, a program from outside)", a.User, a.Client) }

// accounts is how the users of the controllers' ServiceAccounts begin.
const accounts = "system:serviceaccount:kube-system:"

// Actors lists the identities of the controller manager that has the place of kviz' own, by user.
func (s *State) Actors() []*Actor { return s.actors.values() }

// Leads is who holds the controller manager's Lease, from the Lease itself: a program from outside says
// nothing else of it. "" where nobody does.
func (s *State) Leads() (holder string, o *Object) {
	o = s.Object("leases", "kube-system", managerLease)
	if o == nil {
		return "", nil
	}
	if l, ok := o.Value.(*coordinationv1.Lease); ok && l.Spec.HolderIdentity != nil {
		holder = *l.Spec.HolderIdentity
	}
	return holder, o
}

// act notes what a controller manager from outside has written.
func (b *Builder) act(e *trace.Event, r *Request) {
	if !b.s.Without(trace.CompKCM) || !r.Command.IsZero() || r.Resource == "leases" || r.Resource == "events" {
		return
	}
	if r.User != "system:"+managerLease && !(strings.HasPrefix(r.User, accounts) && strings.HasPrefix(r.Client, managerLease)) {
		return
	}
	commit, ok := e.Payload.(*trace.Commit)
	if !ok || len(commit.Changes) == 0 {
		return
	}
	a := edit(b, b.s.actors, r.User)
	a.User, a.Client, a.Verb, a.Object, a.Event, a.At = r.User, r.Client, r.Verb, commit.Changes[0].Object, e.ID, e.At
	a.Writes++
}

// actedOn says which controller from outside wrote an object last, which does not say why.
func (s *State) actedOn(o *Object) *Reason {
	for _, a := range s.Actors() {
		if a.Event == o.Changed {
			return &Reason{Says: fmt.Sprintf("%s was written last by %s: it did not say why", o.Ref, a.By())}
		}
	}
	return nil
}
