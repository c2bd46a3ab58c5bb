package reconcile

import (
	"errors"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
	"kviz/cluster/client/throttle"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// requests counts what a run asks of the API server: live reads, which a cache could
// not answer well enough, and writes; and it notes what made the run wait.
type requests struct {
	client.Interface
	live, writes map[*sim.Task]int
	waits        map[*sim.Task]trace.ID // the last wait for the client's rate limit
}

func newRequests(c client.Interface) *requests {
	r := &requests{c, map[*sim.Task]int{}, map[*sim.Task]int{}, map[*sim.Task]trace.ID{}}
	throttle.OnWait(c, r.wait)
	return r
}

func (c *requests) wait(t *sim.Task, id trace.ID) {
	if c.waits[t].Compare(id) < 0 {
		c.waits[t] = id
	}
}

// Unwrap is the connection itself, for what more it can do.
func (c *requests) Unwrap() client.Interface { return c.Interface }

// end gives what a task has asked since its last end, and its last wait, zero for none; and
// forgets them.
func (c *requests) end(t *sim.Task) (live, writes int, wait trace.ID) {
	live, writes, wait = c.live[t], c.writes[t], c.waits[t]
	delete(c.live, t)
	delete(c.writes, t)
	delete(c.waits, t)
	return live, writes, wait
}

// move has what one task asked for count as another's.
func (c *requests) move(from, to *sim.Task) {
	live, writes, wait := c.end(from)
	if live > 0 {
		c.live[to] += live
	}
	if writes > 0 {
		c.writes[to] += writes
	}
	if !wait.IsZero() {
		c.wait(to, wait)
	}
}

func (c *requests) Get(t *sim.Task, r client.Resource, namespace, name string) (runtime.Object, error) {
	c.live[t]++
	return c.Interface.Get(t, r, namespace, name)
}

func (c *requests) List(t *sim.Task, r client.Resource, namespace string, opts metav1.ListOptions) ([]runtime.Object, int64, error) {
	c.live[t]++
	return c.Interface.List(t, r, namespace, opts)
}

func (c *requests) Create(t *sim.Task, r client.Resource, namespace string, obj runtime.Object) (runtime.Object, error) {
	c.writes[t]++
	return c.Interface.Create(t, r, namespace, obj)
}

func (c *requests) Update(t *sim.Task, r client.Resource, namespace string, obj runtime.Object, subresource string) (runtime.Object, error) {
	c.writes[t]++
	return c.Interface.Update(t, r, namespace, obj, subresource)
}

func (c *requests) Patch(t *sim.Task, r client.Resource, namespace, name string, pt types.PatchType, data []byte, subresource string) (runtime.Object, error) {
	c.writes[t]++
	return c.Interface.Patch(t, r, namespace, name, pt, data, subresource)
}

func (c *requests) Apply(t *sim.Task, r client.Resource, namespace, name string, configuration []byte, manager string) (runtime.Object, error) {
	c.writes[t]++
	return c.Interface.Apply(t, r, namespace, name, configuration, manager)
}

func (c *requests) ApplyStatus(t *sim.Task, r client.Resource, namespace, name string, configuration []byte, manager string) (runtime.Object, error) {
	c.writes[t]++
	return c.Interface.ApplyStatus(t, r, namespace, name, configuration, manager)
}

func (c *requests) Delete(t *sim.Task, r client.Resource, namespace, name string, opts metav1.DeleteOptions) error {
	c.writes[t]++
	return c.Interface.Delete(t, r, namespace, name, opts)
}

func (c *requests) CreateSub(t *sim.Task, r client.Resource, namespace, name, subresource string, obj runtime.Object) (runtime.Object, error) {
	c.writes[t]++
	return c.Interface.CreateSub(t, r, namespace, name, subresource, obj)
}

// GetScale is [client.Scales.GetScale] of the connection behind.
func (c *requests) GetScale(t *sim.Task, r client.Resource, namespace, name string) (*autoscalingv1.Scale, error) {
	c.live[t]++
	return client.Scale(t, c.Interface, r, namespace, name)
}

// GetAggregated is [client.Aggregation.GetAggregated] of the connection behind.
func (c *requests) GetAggregated(t *sim.Task, r client.AggregatedRead) (int, []byte, error) {
	a, ok := client.As[client.Aggregation](c.Interface)
	if !ok {
		return 0, nil, errNoAggregation
	}
	c.live[t]++
	return a.GetAggregated(t, r)
}

var errNoAggregation = errors.New("this connection cannot read from other servers")
