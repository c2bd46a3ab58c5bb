// Package cloud is the cloud that the cluster's machines are in, as far as Kubernetes asks
// for it: an API that makes load balancers, changes them and takes them away, says of the
// machines which they are, and keeps a table of routes to their pods.
//
// In reality that is AWS, Azure, GCP or OpenStack, and cloud-controller-manager asks it
// through the interface cloudprovider.Interface (k8s.io/cloud-provider cloud.go). A load
// balancer stands outside the nodes: a machine on the internet sends its packets to the
// balancer's address, and the balancer sends them on to a node, whose kube-proxy knows
// what to do with them.
//
// The worked idea. A Service web of type LoadBalancer has the port 80 and the node port
// 30080, in a cluster of three nodes:
//
//  1. cloud-controller-manager asks for a load balancer for node-1, node-2 and node-3
//  2. some seconds later the cloud has made it, with the address 203.0.113.1
//  3. a connection to 203.0.113.1:80 goes to node-2, which is healthy and whose turn it
//     is. Usually the packet arrives as it was sent (ipMode VIP), and node-2's kube-proxy
//     has a rule for 203.0.113.1; a balancer of ipMode Proxy opens a connection of its own,
//     to node-2:30080
//
// Where kubelets have --cloud-provider=external, each machine is an [Instance] of the cloud,
// which a person can shut down or delete (instance.go), and packets between nodes need a
// route in the cloud's table (route.go).
//
// What the cloud has outlives every process of the cluster, as a cloud does. Simulated:
// the whole of it; a node's health is asked when a connection comes, not every few seconds.
// Start reading at [Cloud.Ensure], then [Cloud.Forward].
package cloud

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/controller/cloudprovider"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Network, How: simulated.Simulated,
	What: "the cloud makes load balancers with addresses of 203.0.113.0/24 (a range for documentation, RFC 5737), which forward each connection to a node that is healthy at that moment; they check no node every few seconds and cost nothing",
	Seen: "EXTERNAL-IP of kubectl get services; the cloud.call events; pane 8, the way of a packet that comes from outside",
})

// Addresses are those that load balancers get: TEST-NET-3, which belongs to nobody.
var Addresses = netip.MustParsePrefix("203.0.113.0/24")

// ModeAnnotation on a Service asks for another ipMode than VIP: "Proxy".
const ModeAnnotation = "service.cloud.kviz.dev/ip-mode"

// What the cloud takes: for an answer, and for making or changing a load balancer.
const (
	answers   = 80 * time.Millisecond
	makes     = 4 * time.Second // to 6 s
	makesMore = 2 * time.Second
	changes   = 600 * time.Millisecond
	deletes   = 900 * time.Millisecond
)

// lane is where the cloud's events are.
var lane = trace.Lane{Component: trace.CompCloud}

// Cloud is the cloud of one cluster. Its methods may be called only on the kernel's
// goroutine.
type Cloud struct {
	k         *sim.Kernel
	rand      *rand.Rand
	nodes     Nodes
	balancers []*Balancer           // in the order in which they were made
	last      netip.Addr            // the address given last: one rests before it is used again
	instances []*Instance           // in the order in which they were first made
	routes    []cloudprovider.Route // in the order in which they were made
	full      bool                  // the table of routes takes no more
	down      bool
	slow      sim.Delay
}

// Nodes are the cluster's machines, as load balancers see them.
type Nodes interface {
	// Healthy asks a server of kube-proxy on a node: GET /healthz at the port. says is
	// why the node gets no connections.
	Healthy(node string, port int) (ok bool, says string)
	// Address is the node's address; the zero Addr where there is none.
	Address(node string) netip.Addr
}

// New makes a cloud without load balancers.
func New(k *sim.Kernel, nodes Nodes) *Cloud {
	return &Cloud{k: k, rand: k.Rand("cloud"), nodes: nodes, last: Addresses.Addr()}
}

// Reachable says whether the cloud's API answers. The load balancers that are there go on.
func (c *Cloud) Reachable(yes bool) { c.down = !yes }

// Slow has each call take so much longer, those that have begun too; 0 undoes it.
func (c *Cloud) Slow(d time.Duration) { c.slow.Set(d) }

// Name is what the load balancer of a Service is called
// (k8s.io/cloud-provider cloud.go DefaultLoadBalancerName).
func Name(svc *corev1.Service) string {
	name := "a" + strings.ReplaceAll(string(svc.UID), "-", "")
	return name[:min(len(name), 32)]
}

// Balancers are the load balancers that there are, in the order in which they were made.
func (c *Cloud) Balancers() []*Balancer { return c.balancers }

func (c *Cloud) find(name string) *Balancer {
	i := slices.IndexFunc(c.balancers, func(b *Balancer) bool { return b.Name == name })
	if i < 0 {
		return nil
	}
	return c.balancers[i]
}

// errDown is what a client of the cloud says while its API does not answer.
var errDown = errors.New("the cloud's API answers 503 Service Unavailable")

// call is one request to the cloud's API about an object: do runs once the call has taken its
// time. A caller that is killed meanwhile does not hear the answer; what it asked for happens all
// the same.
func (c *Cloud) call(t *sim.Task, says trace.CloudCall, about trace.Ref, takes func() (time.Duration, error), do func() (string, error)) error {
	began := t.Elapsed()
	t.Sleep(answers)
	c.slow.Pass(t)
	err := errDown
	if !c.down {
		var d time.Duration
		if d, err = takes(); err == nil {
			t.Sleep(d)
			says.Result, err = do()
		}
	}
	if err != nil {
		says.Error = err.Error()
	}
	says.Took = t.Elapsed() - began
	t.SetCauses(t.Emit(trace.Event{Kind: trace.CloudCalled, Lane: lane, Object: about, Payload: &says}))
	return err
}

// callFor is a call about the load balancer of a Service.
func (c *Cloud) callFor(t *sim.Task, what string, svc *corev1.Service, takes func() (time.Duration, error), do func() (string, error)) error {
	return c.call(t, trace.CloudCall{Call: what, Service: svc.Namespace + "/" + svc.Name, Balancer: Name(svc)},
		trace.Ref{APIVersion: "v1", Kind: "Service", Namespace: svc.Namespace, Name: svc.Name, UID: string(svc.UID)}, takes, do)
}

func soon(d time.Duration) func() (time.Duration, error) {
	return func() (time.Duration, error) { return d, nil }
}

// Get is the load balancer of a Service as its status says it; nil if there is none
// (cloudprovider.LoadBalancer GetLoadBalancer).
func (c *Cloud) Get(t *sim.Task, svc *corev1.Service) (status *corev1.LoadBalancerStatus, err error) {
	err = c.callFor(t, "GetLoadBalancer", svc, soon(0), func() (string, error) {
		b := c.find(Name(svc))
		if b == nil {
			return "there is none", nil
		}
		status = b.status()
		return b.Address.String(), nil
	})
	return status, err
}

// Ensure makes the load balancer of a Service, or makes it as the Service now wants it
// (EnsureLoadBalancer).
func (c *Cloud) Ensure(t *sim.Task, svc *corev1.Service, nodes []*corev1.Node) (status *corev1.LoadBalancerStatus, err error) {
	var b *Balancer
	err = c.callFor(t, "EnsureLoadBalancer", svc, func() (time.Duration, error) {
		if b = c.find(Name(svc)); b == nil {
			a, err := c.allocate(svc.Spec.LoadBalancerIP)
			if err != nil {
				return 0, err
			}
			b = &Balancer{Name: Name(svc), Service: svc.Namespace + "/" + svc.Name, Address: a, ready: t.Elapsed() + makes + time.Duration(c.rand.Int64N(int64(makesMore)))}
			c.balancers = append(c.balancers, b)
			b.set(svc, nodes)
		}
		return max(b.ready-t.Elapsed(), changes), nil
	}, func() (string, error) {
		b.set(svc, nodes)
		status = b.status()
		return fmt.Sprintf("%s for %s", b.Address, b.targets()), nil
	})
	return status, err
}

// Update gives the load balancer of a Service other nodes (UpdateLoadBalancer).
func (c *Cloud) Update(t *sim.Task, svc *corev1.Service, nodes []*corev1.Node) error {
	return c.callFor(t, "UpdateLoadBalancer", svc, soon(changes), func() (string, error) {
		b := c.find(Name(svc))
		if b == nil {
			return "", fmt.Errorf("there is no load balancer %s", Name(svc))
		}
		b.set(svc, nodes)
		return fmt.Sprintf("%s for %s", b.Address, b.targets()), nil
	})
}

// Delete takes the load balancer of a Service away, if there is one (EnsureLoadBalancerDeleted).
func (c *Cloud) Delete(t *sim.Task, svc *corev1.Service) error {
	return c.callFor(t, "EnsureLoadBalancerDeleted", svc, soon(deletes), func() (string, error) {
		b := c.find(Name(svc))
		if b == nil {
			return "there is none", nil
		}
		c.balancers = slices.DeleteFunc(slices.Clone(c.balancers), func(o *Balancer) bool { return o == b })
		return b.Address.String() + " is free", nil
	})
}

// allocate gives the next free address, or the one that is wanted.
func (c *Cloud) allocate(wanted string) (netip.Addr, error) {
	free := func(a netip.Addr) bool {
		return Addresses.Contains(a) && a != Addresses.Addr() && Addresses.Contains(a.Next()) && // the first and the last are no machine's
			!slices.ContainsFunc(c.balancers, func(b *Balancer) bool { return b.Address == a })
	}
	if wanted != "" {
		a, err := netip.ParseAddr(wanted)
		if err != nil || !free(a) {
			return netip.Addr{}, fmt.Errorf("the address %s cannot be had: this cloud has %s, without those in use", wanted, Addresses)
		}
		return a, nil
	}
	a := c.last
	for range 1 << (32 - Addresses.Bits()) {
		if a = a.Next(); !Addresses.Contains(a) {
			a = Addresses.Addr()
			continue
		}
		if free(a) {
			c.last = a
			return a, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("the quota of load balancers is used up: %s has %d addresses", Addresses, len(c.balancers))
}
