// Package throttle is the rate limit in every client of the API server: a component sends so
// many requests a second and no more, however much it has to do.
//
// In Kubernetes each clientset has a token bucket of its own (client-go rest.Config QPS and
// Burst, rest/request.go tryThrottle), and so has each here: [New] puts one in front of a
// connection, as kubernetes.NewForConfig does. It is why a pod that its node refuses again
// and again is made 20 times a second at most, and why a hundred pods take seconds to make.
// Watches are not limited (Request.Watch), and with them the lists of informers, which are
// watches since WatchList.
//
// The worked idea, of kube-controller-manager's 20 a second and burst 30. The ReplicaSet
// controller makes 40 pods, and the Events about them go through the same client:
//
//	requests 1 to 30    at once
//	request 31          waits 50 ms
//	request 32          waits 100 ms, behind it
//
// Not every request is in the trace, or there would be as many events more as requests. The
// trace has the making of each client, which says how fast it may send, each request that
// leaves less than half of the burst, and each that waits. Start reading at [New].
package throttle

import (
	"errors"
	"math"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/tokenbucket"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Clients, How: simulated.Simplified,
	What: "rate limits of components' clients count neither discovery requests nor those for the controllers' own tokens, which nobody makes",
	Seen: "pane 5, the view clients",
})

// Limits are how fast a client may send: QPS requests a second, and Burst at once after a
// rest (client-go rest.Config). Zero is client-go's default; a negative QPS is no limit.
type Limits struct {
	QPS   float32
	Burst int
}

// What a client has that sets nothing (client-go rest/config.go).
const (
	DefaultQPS   = 5
	DefaultBurst = 10
)

// Or gives the limits where they are set, and else where there are none.
func (l Limits) Or(usual Limits) Limits {
	if l.QPS == 0 {
		l.QPS = usual.QPS
	}
	if l.Burst == 0 {
		l.Burst = usual.Burst
	}
	return l
}

// New puts a bucket of its own in front of a connection of process p, for the component in
// lane; name says which of its clients it is. All requests through it share the bucket, and
// the process that begins after p has a new one.
func New(p *sim.Process, lane trace.Lane, c client.Interface, name string, l Limits) client.Interface {
	l = l.Or(Limits{QPS: DefaultQPS, Burst: DefaultBurst})
	if l.QPS < 0 {
		return c
	}
	made := &throttled{Interface: c, lane: lane, name: name, limits: l, bucket: tokenbucket.New(float64(l.QPS), l.Burst)}
	e := trace.Event{Lane: lane, Kind: trace.ClientLimited, Payload: made.state(p.Kernel().Elapsed())}
	if began := p.Began(); !began.IsZero() {
		e.Causes = []trace.ID{began}
	}
	p.Kernel().Emit(e)
	return made
}

type throttled struct {
	client.Interface
	lane   trace.Lane
	name   string
	limits Limits
	bucket *tokenbucket.Bucket
	waited func(*sim.Task, trace.ID) // nil: nobody wants to know
}

// OnWait has fn called with each task whose request through c has waited, and the wait.
func OnWait(c client.Interface, fn func(t *sim.Task, wait trace.ID)) {
	if limited, ok := client.As[*throttled](c); ok {
		limited.waited = fn
	}
}

// state is what the trace says of it.
func (c *throttled) state(now time.Duration) *trace.ClientLimit {
	left := math.Round(c.bucket.Tokens(now)*1e6) / 1e6
	return &trace.ClientLimit{Client: c.name, QPS: float64(c.limits.QPS), Burst: c.limits.Burst, Tokens: left}
}

// Unwrap is the connection behind, for what more it can do.
func (c *throttled) Unwrap() client.Interface { return c.Interface }

// enter waits until the next request may be sent, and gives what ends it: what the task acts
// on is then again what it was. A request that has waited is caused by its wait.
func (c *throttled) enter(t *sim.Task, verb string, r client.Resource, namespace, name string) (leave func()) {
	now := t.Elapsed()
	turn := c.bucket.Reserve(now)
	delay := turn.At - now
	if delay == 0 && c.bucket.Tokens(now) >= float64(c.limits.Burst)/2 {
		return func() {}
	}
	sent := false
	defer func() { // the task may be killed while it waits
		if !sent {
			c.bucket.Cancel(turn, t.Elapsed())
		}
	}()
	told := c.state(now)
	told.Verb, told.Resource, told.Delay = verb, r.Resource, delay
	id := t.Emit(trace.Event{Lane: c.lane, Kind: trace.ClientLimited, Object: r.Ref(namespace, name), Payload: told})
	if delay > 0 {
		t.Sleep(delay)
	}
	sent = true
	if delay == 0 {
		return func() {}
	}
	if c.waited != nil {
		c.waited(t, id)
	}
	before := t.Causes()
	t.SetCauses(id)
	return func() { t.SetCauses(before...) }
}

func (c *throttled) Get(t *sim.Task, r client.Resource, namespace, name string) (runtime.Object, error) {
	defer c.enter(t, "get", r, namespace, name)()
	return c.Interface.Get(t, r, namespace, name)
}

func (c *throttled) List(t *sim.Task, r client.Resource, namespace string, opts metav1.ListOptions) ([]runtime.Object, int64, error) {
	defer c.enter(t, "list", r, namespace, "")()
	return c.Interface.List(t, r, namespace, opts)
}

func (c *throttled) Create(t *sim.Task, r client.Resource, namespace string, obj runtime.Object) (runtime.Object, error) {
	defer c.enter(t, "create", r, namespace, client.RefOf(obj).Name)()
	return c.Interface.Create(t, r, namespace, obj)
}

func (c *throttled) Update(t *sim.Task, r client.Resource, namespace string, obj runtime.Object, subresource string) (runtime.Object, error) {
	defer c.enter(t, "update", r, namespace, client.RefOf(obj).Name)()
	return c.Interface.Update(t, r, namespace, obj, subresource)
}

func (c *throttled) Patch(t *sim.Task, r client.Resource, namespace, name string, pt types.PatchType, data []byte, subresource string) (runtime.Object, error) {
	defer c.enter(t, "patch", r, namespace, name)()
	return c.Interface.Patch(t, r, namespace, name, pt, data, subresource)
}

func (c *throttled) Apply(t *sim.Task, r client.Resource, namespace, name string, configuration []byte, manager string) (runtime.Object, error) {
	defer c.enter(t, "patch", r, namespace, name)()
	return c.Interface.Apply(t, r, namespace, name, configuration, manager)
}

func (c *throttled) ApplyStatus(t *sim.Task, r client.Resource, namespace, name string, configuration []byte, manager string) (runtime.Object, error) {
	defer c.enter(t, "patch", r, namespace, name)()
	return c.Interface.ApplyStatus(t, r, namespace, name, configuration, manager)
}

func (c *throttled) Delete(t *sim.Task, r client.Resource, namespace, name string, opts metav1.DeleteOptions) error {
	defer c.enter(t, "delete", r, namespace, name)()
	return c.Interface.Delete(t, r, namespace, name, opts)
}

func (c *throttled) CreateSub(t *sim.Task, r client.Resource, namespace, name, subresource string, obj runtime.Object) (runtime.Object, error) {
	defer c.enter(t, "create", r, namespace, name)()
	return c.Interface.CreateSub(t, r, namespace, name, subresource, obj)
}

// GetScale is [client.Scales.GetScale] of the connection behind.
func (c *throttled) GetScale(t *sim.Task, r client.Resource, namespace, name string) (*autoscalingv1.Scale, error) {
	defer c.enter(t, "get", r, namespace, name)()
	return client.Scale(t, c.Interface, r, namespace, name)
}

// GetAggregated is [client.Aggregation.GetAggregated] of the connection behind.
func (c *throttled) GetAggregated(t *sim.Task, r client.AggregatedRead) (int, []byte, error) {
	a, ok := client.As[client.Aggregation](c.Interface)
	if !ok {
		return 0, nil, errNoAggregation
	}
	defer c.enter(t, r.Verb(), client.Resource{GroupVersionResource: r.Resource}, r.Namespace, r.Name)()
	return a.GetAggregated(t, r)
}

var errNoAggregation = errors.New("the connection behind the rate limit cannot read from other servers")
