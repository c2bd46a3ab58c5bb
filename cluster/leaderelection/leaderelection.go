// Package leaderelection is client-go's tools/leaderelection: of several copies
// of a component, the one that holds a Lease works and the others wait.
//
// The Lease is an ordinary object; what makes the election safe is that the store
// takes an update only on top of the newest resourceVersion, so two copies that both
// find the Lease expired cannot both win. There is one thing that it does not
// promise: a holder that is cut off may believe that it leads until its renew
// deadline (10 s), which is why that is shorter than the Lease (15 s).
//
// Simplified: no coordinated election. Start reading at [Run].
package leaderelection

import (
	"fmt"
	"reflect"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/record"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Clients, How: simulated.Absent,
	What: "coordinated leader election",
})

// The control plane's numbers (component-base config/v1alpha1/defaults.go
// RecommendedDefaultLeaderElectionConfiguration).
const (
	LeaseDuration = 15 * time.Second
	RenewDeadline = 10 * time.Second
	RetryPeriod   = 2 * time.Second
	jitterFactor  = 1.2
)

// elector is one candidate.
type elector struct {
	client   client.Interface
	events   *record.Recorder
	name     string
	identity string

	lease    *coordinationv1.Lease // as last seen or written
	observed time.Time             // when it last changed, by the candidate's own clock
	elected  bool                  // has won since it started
}

// Identity names one run of a component: its lane and a random part, as upstream
// takes the host's name and a UUID. So a component that starts again is another
// candidate, and waits until the Lease of the one before has run out.
func Identity(p *sim.Process) string {
	r := p.Kernel().Rand(fmt.Sprintf("%s identity at %s", p.Lane, p.Kernel().Elapsed()))
	return fmt.Sprintf("%s_%08x", p.Lane, r.Uint32())
}

// Run takes part in the election for the Lease name in kube-system until the
// lease is lost: it waits until identity holds the Lease, starts onStarted as a
// task of its own, and renews. When it cannot renew in time it calls onStopped
// and returns; the caller decides whether to end the process, as upstream's
// components do. Kubernetes Events tell who became leader.
func Run(t *sim.Task, c client.Interface, events *record.Recorder, name, identity string, onStarted func(*sim.Task), onStopped func(lost trace.ID)) {
	e := &elector{client: c, events: events, name: name, identity: identity}
	t.SetCauses(t.Process().Began())
	for !e.tryAcquireOrRenew(t) {
		t.Sleep(RetryPeriod + time.Duration(t.Rand().Float64()*jitterFactor*float64(RetryPeriod)))
	}
	t.Process().Go("leading", onStarted)
	e.renew(t)
	// That nobody answered is no event; why is known to the simulation only.
	t.SetCauses(t.Process().Began(), t.Kernel().Silenced(trace.Lane{Component: trace.CompAPIServer}))
	lost := t.Emit(trace.Event{
		Kind: trace.LeaderElected, Object: client.RefOf(e.lease),
		Payload: &trace.Election{Lease: name, Holder: e.holder(), Won: false, Previous: identity},
	})
	e.tell(t, "stopped leading")
	onStopped(lost)
}

// Release gives the Lease up, if identity holds it, so that the next candidate
// need not wait: what kube-scheduler does when it is stopped in an orderly way
// (leaderelection.go release).
func Release(t *sim.Task, c client.Interface, name, identity string) {
	for {
		found, err := client.Get[*coordinationv1.Lease](t, c, client.Leases, metav1.NamespaceSystem, name)
		if err != nil || found.Spec.HolderIdentity == nil || *found.Spec.HolderIdentity != identity {
			return
		}
		lease, nobody, second, now := found.DeepCopy(), "", int32(1), metav1.NewMicroTime(t.Now())
		lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds, lease.Spec.RenewTime, lease.Spec.AcquireTime = &nobody, &second, &now, &now
		if _, err = client.Update(t, c, client.Leases, metav1.NamespaceSystem, lease); !apierrors.IsConflict(err) {
			return
		}
	}
}

// renew keeps the Lease and returns when it is lost: somebody else holds it, or
// RenewDeadline passed without a renewal.
func (e *elector) renew(t *sim.Task) {
	deadline := t.Elapsed() + RenewDeadline
	for {
		t.Sleep(RetryPeriod)
		t.SetCauses()
		if e.tryAcquireOrRenew(t) {
			deadline = t.Elapsed() + RenewDeadline
		} else if t.Elapsed() >= deadline {
			return
		}
	}
}

// tryAcquireOrRenew makes one attempt and reports whether identity now holds
// the Lease (leaderelection.go tryAcquireOrRenew).
func (e *elector) tryAcquireOrRenew(t *sim.Task) bool {
	if e.leading() && e.valid(t) {
		// The fast path: hope that nobody touched the Lease since.
		if e.write(t) == nil {
			return true
		}
	}
	found, err := client.Get[*coordinationv1.Lease](t, e.client, client.Leases, metav1.NamespaceSystem, e.name)
	if apierrors.IsNotFound(err) {
		return e.create(t) == nil
	}
	if err != nil {
		return false
	}
	if e.lease == nil || !reflect.DeepEqual(e.lease.Spec, found.Spec) {
		e.observed = t.Now()
	}
	e.lease = found
	if e.holder() != "" && !e.leading() && e.valid(t) {
		return false
	}
	return e.write(t) == nil
}

func (e *elector) holder() string {
	if e.lease == nil || e.lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *e.lease.Spec.HolderIdentity
}

func (e *elector) leading() bool { return e.holder() == e.identity }

// valid reports whether the Lease has not run out, counted from when this
// candidate saw it change: the clocks of two machines are never compared.
func (e *elector) valid(t *sim.Task) bool {
	if e.lease == nil || e.lease.Spec.LeaseDurationSeconds == nil {
		return false
	}
	return t.Now().Before(e.observed.Add(time.Duration(*e.lease.Spec.LeaseDurationSeconds) * time.Second))
}

func (e *elector) create(t *sim.Task) error {
	zero := int32(0)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: e.name, Namespace: metav1.NamespaceSystem}}
	lease.Spec.LeaseTransitions = &zero
	e.fill(t, lease, true)
	made, err := client.Create(t, e.client, client.Leases, metav1.NamespaceSystem, lease)
	if err != nil {
		return err
	}
	e.won(t, made, "")
	return nil
}

func (e *elector) write(t *sim.Task) error {
	lease := e.lease.DeepCopy()
	previous, mine := e.holder(), e.leading()
	if !mine {
		n := int32(1)
		if lease.Spec.LeaseTransitions != nil {
			n += *lease.Spec.LeaseTransitions
		}
		lease.Spec.LeaseTransitions = &n
	}
	e.fill(t, lease, !mine)
	written, err := client.Update(t, e.client, client.Leases, metav1.NamespaceSystem, lease)
	if err != nil {
		return err
	}
	if mine && e.elected {
		e.lease, e.observed = written, t.Now()
		return nil
	}
	e.won(t, written, previous)
	return nil
}

func (e *elector) fill(t *sim.Task, lease *coordinationv1.Lease, acquire bool) {
	now := metav1.NewMicroTime(t.Now())
	seconds := int32(LeaseDuration / time.Second)
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds, lease.Spec.RenewTime = &e.identity, &seconds, &now
	if acquire {
		lease.Spec.AcquireTime = &now
	}
}

func (e *elector) won(t *sim.Task, lease *coordinationv1.Lease, previous string) {
	e.lease, e.observed, e.elected = lease, t.Now(), true
	t.Emit(trace.Event{
		Kind: trace.LeaderElected, Object: client.RefOf(lease),
		Payload: &trace.Election{Lease: e.name, Holder: e.identity, Won: true, Previous: previous},
	})
	e.tell(t, "became leader")
}

// tell writes a Kubernetes Event about the Lease (resourcelock/leaselock.go
// RecordEvent).
func (e *elector) tell(t *sim.Task, what string) {
	e.events.Event(t, e.lease, corev1.EventTypeNormal, "LeaderElection", "%s %s", e.identity, what)
}
