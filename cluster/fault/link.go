// Package fault is what can go wrong on purpose: the table of faults, and the places
// where they enter.
//
// No component knows of faults. A fault enters where it would in reality: a process is
// killed, a link drops what is sent over it, a disk fills up, a registry does not
// answer; and it is felt only through the ordinary interfaces. The table has a row for
// each kind of target and fault: its name and meaning, what mends it, and what it does
// ([Row]); the targets are small interfaces (targets.go). Start reading at table.go,
// then of_node.go; link.go is the connection between a component and the API server.
package fault

import (
	"errors"
	"fmt"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Link is the network between one machine and the API server.
type Link struct {
	name  string
	cut   bool
	why   trace.ID  // of the cut
	slow  sim.Delay // added to every request
	again sim.Cond  // the link was mended
}

// NewLink makes a sound link of the named machine.
func NewLink(name string) *Link { return &Link{name: name} }

// Cut loses everything sent over the link, in both directions, until it is
// mended: nobody is notified, things just do not arrive. why is the event of it, for
// the causes of what a client does when it notices.
func (l *Link) Cut(why trace.ID) { l.cut, l.why = true, why }

// Heal mends the link.
func (l *Link) Heal() {
	l.cut = false
	l.slow.Set(0)
	l.again.Broadcast()
}

// Slow adds d to every request over the link.
func (l *Link) Slow(d time.Duration) { l.slow.Set(d) }

// Sound reports whether nothing is wrong with the link.
func (l *Link) Sound() bool { return !l.cut && l.slow.Get() == 0 }

// Reach takes the first packet of a connection to the machine over the link, for as long
// as limit allows, and reports whether it has arrived.
func (l *Link) Reach(t *sim.Task, limit time.Duration) bool {
	for deadline := t.Elapsed() + limit; l.cut; {
		left := deadline - t.Elapsed()
		if left <= 0 {
			return false
		}
		l.again.WaitTimeout(t, left)
	}
	l.slow.Pass(t)
	return true
}

// How long a client takes to notice that nothing arrives. client-go: a request
// has the client's timeout; a watch lives until HTTP/2 pings go unanswered
// (apimachinery pkg/util/net http.go: read idle 30 s, ping 15 s).
const (
	requestTimeout = 10 * time.Second
	watchTimeout   = 45 * time.Second
)

// Wrap gives a client whose requests go over the link.
func (l *Link) Wrap(c client.Interface) client.Interface { return &linked{l, c} }

type linked struct {
	l *Link
	c client.Interface
}

// send takes a request over the link, or fails as a client sees a dead link.
func (n *linked) send(t *sim.Task) error {
	deadline := t.Elapsed() + requestTimeout
	for n.l.cut {
		left := deadline - t.Elapsed()
		if left <= 0 {
			return fmt.Errorf("%s to the API server: request canceled, Client.Timeout exceeded while awaiting headers: %w", n.l.name, client.ErrUnreachable)
		}
		n.l.again.WaitTimeout(t, left)
	}
	n.l.slow.Pass(t)
	return nil
}

func (n *linked) Get(t *sim.Task, r client.Resource, namespace, name string) (runtime.Object, error) {
	if err := n.send(t); err != nil {
		return nil, err
	}
	return n.c.Get(t, r, namespace, name)
}

func (n *linked) List(t *sim.Task, r client.Resource, namespace string, opts metav1.ListOptions) ([]runtime.Object, int64, error) {
	if err := n.send(t); err != nil {
		return nil, 0, err
	}
	return n.c.List(t, r, namespace, opts)
}

func (n *linked) Watch(t *sim.Task, r client.Resource, namespace string, opts metav1.ListOptions) (client.Watch, error) {
	if err := n.send(t); err != nil {
		return nil, err
	}
	w, err := n.c.Watch(t, r, namespace, opts)
	if err != nil {
		return nil, err
	}
	return &linkedWatch{n.l, w}, nil
}

func (n *linked) Create(t *sim.Task, r client.Resource, namespace string, obj runtime.Object) (runtime.Object, error) {
	if err := n.send(t); err != nil {
		return nil, err
	}
	return n.c.Create(t, r, namespace, obj)
}

func (n *linked) Update(t *sim.Task, r client.Resource, namespace string, obj runtime.Object, subresource string) (runtime.Object, error) {
	if err := n.send(t); err != nil {
		return nil, err
	}
	return n.c.Update(t, r, namespace, obj, subresource)
}

func (n *linked) Patch(t *sim.Task, r client.Resource, namespace, name string, pt types.PatchType, data []byte, subresource string) (runtime.Object, error) {
	if err := n.send(t); err != nil {
		return nil, err
	}
	return n.c.Patch(t, r, namespace, name, pt, data, subresource)
}

func (n *linked) Apply(t *sim.Task, r client.Resource, namespace, name string, configuration []byte, manager string) (runtime.Object, error) {
	if err := n.send(t); err != nil {
		return nil, err
	}
	return n.c.Apply(t, r, namespace, name, configuration, manager)
}

func (n *linked) ApplyStatus(t *sim.Task, r client.Resource, namespace, name string, configuration []byte, manager string) (runtime.Object, error) {
	if err := n.send(t); err != nil {
		return nil, err
	}
	return n.c.ApplyStatus(t, r, namespace, name, configuration, manager)
}

func (n *linked) Delete(t *sim.Task, r client.Resource, namespace, name string, opts metav1.DeleteOptions) error {
	if err := n.send(t); err != nil {
		return err
	}
	return n.c.Delete(t, r, namespace, name, opts)
}

func (n *linked) CreateSub(t *sim.Task, r client.Resource, namespace, name, subresource string, obj runtime.Object) (runtime.Object, error) {
	if err := n.send(t); err != nil {
		return nil, err
	}
	return n.c.CreateSub(t, r, namespace, name, subresource, obj)
}

// GetScale is [client.Scales.GetScale] of the client behind the link.
func (n *linked) GetScale(t *sim.Task, r client.Resource, namespace, name string) (*autoscalingv1.Scale, error) {
	if err := n.send(t); err != nil {
		return nil, err
	}
	return client.Scale(t, n.c, r, namespace, name)
}

// GetAggregated is [client.Aggregation.GetAggregated] of the client behind the link.
func (n *linked) GetAggregated(t *sim.Task, r client.AggregatedRead) (int, []byte, error) {
	if err := n.send(t); err != nil {
		return 0, nil, err
	}
	a, ok := client.As[client.Aggregation](n.c)
	if !ok {
		return 0, nil, errNoAggregation
	}
	return a.GetAggregated(t, r)
}

var errNoAggregation = errors.New("the connection behind the link cannot read from other servers")

// linkedWatch is a watch whose events come over the link. An event that is
// already on its way when the link is cut still arrives; the next one waits,
// and the watch breaks when the client notices.
type linkedWatch struct {
	l *Link
	w client.Watch
}

func (w *linkedWatch) Recv(t *sim.Task) (client.WatchEvent, bool) {
	deadline := t.Elapsed() + watchTimeout
	for w.l.cut {
		left := deadline - t.Elapsed()
		if left <= 0 {
			w.w.Stop()
			return client.WatchEvent{ID: w.l.why}, false
		}
		w.l.again.WaitTimeout(t, left)
	}
	return w.w.Recv(t)
}

func (w *linkedWatch) Stop() { w.w.Stop() }

// UsedKinds is [client.Usage.UsedKinds] of the client behind the link.
func (n *linked) UsedKinds() []client.Resource {
	if u, ok := n.c.(client.Usage); ok {
		return u.UsedKinds()
	}
	return nil
}

// AwaitCustomKinds is [client.Usage.AwaitCustomKinds] of the client behind the link.
// If that cannot tell, it waits for ever.
func (n *linked) AwaitCustomKinds(t *sim.Task, since uint64) ([]client.CustomKind, uint64) {
	if u, ok := n.c.(client.Usage); ok {
		return u.AwaitCustomKinds(t, since)
	}
	for {
		n.l.again.Wait(t)
	}
}

// AwaitUse is [client.Usage.AwaitUse] of the client behind the link. If that cannot
// tell, it waits for ever.
func (n *linked) AwaitUse(t *sim.Task, known int) []client.Resource {
	if u, ok := n.c.(client.Usage); ok {
		return u.AwaitUse(t, known)
	}
	for {
		n.l.again.Wait(t)
	}
}
