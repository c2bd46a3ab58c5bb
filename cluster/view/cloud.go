package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/trace"
)

// CloudCall is the cloud's newest answer about the load balancer of a Service, or about the instance
// or the route of a node.
type CloudCall struct {
	gen
	trace.CloudCall
	Event trace.ID
	At    time.Duration
}

func (c *CloudCall) seal() {}

// CloudCalls are the cloud's newest answers, one for each Service and node.
func (s *State) CloudCalls() []*CloudCall { return s.cloud.values() }

// CloudCall is the cloud's newest answer about a Service; nil if it was never asked.
func (s *State) CloudCall(service string) *CloudCall { c, _ := s.cloud.get(service); return c }

// About is what an answer is about: "default/web", "node-2", or "" for the routes of all nodes.
func (c *CloudCall) About() string { return c.Service + c.Node }

// cloudNode is the cloud's newest answer about a node; nil if it was never asked.
func (s *State) cloudNode(name string) *CloudCall { c, _ := s.cloud.get("node " + name); return c }

func init() {
	on(trace.CloudCalled, func(b *Builder, e *trace.Event, p *trace.CloudCall) {
		key := p.Service
		if key == "" {
			key = "node " + p.Node // no namespace has a space in its name
		}
		c := edit(b, b.s.cloud, key)
		c.CloudCall, c.Event, c.At = *p, e.ID, e.At
	})
	say(trace.CloudCalled, func(_ *trace.Event, p *trace.CloudCall) string {
		about := strings.TrimSpace(p.Service + p.Node + tail(" ", p.Route))
		if p.Error != "" {
			return fmt.Sprintf("the cloud fails %s%s after %s: %s", p.Call, tail(" of ", about), took(p.Took), p.Error)
		}
		does := map[string]string{
			"GetLoadBalancer": "says of the load balancer of", "EnsureLoadBalancer": "has a load balancer for",
			"UpdateLoadBalancer": "has given other nodes to the load balancer of", "EnsureLoadBalancerDeleted": "has deleted the load balancer of",
			"CreateRoute": "has a route to", "DeleteRoute": "has deleted a route to",
		}[p.Call]
		switch p.Call {
		case "InstanceMetadata":
			return fmt.Sprintf("the cloud says what the machine of %s is%s", about, tail(": ", p.Result))
		case "InstanceExists", "InstanceShutdown":
			return fmt.Sprintf("the cloud says of the machine of %s%s", about, tail(": ", p.Result))
		case "ListRoutes":
			return "the cloud lists its routes" + tail(": ", p.Result)
		}
		return fmt.Sprintf("the cloud %s %s%s", orElse(does, "answers about"), about, tail(": ", p.Result))
	})
}

// The parts of cloud-controller-manager (k8s.io/cloud-provider/names).
const (
	serviceController = "service-lb-controller"
	cloudLease        = "cloud-controller-manager"
)

// Those that nodes of kubelets with --cloud-provider=external need.
const (
	cloudNodeController      = "cloud-node-controller"
	cloudLifecycleController = "cloud-node-lifecycle-controller"
	routeController          = "node-route-controller"
)

var ofCloud = []string{serviceController, cloudNodeController, cloudLifecycleController, routeController}

// Manager is the process that a controller is a part of: the controller manager, or
// cloud-controller-manager.
func Manager(controller string) string {
	if slices.Contains(ofCloud, controller) {
		return trace.CompCCM
	}
	return trace.CompKCM
}

// balancerFinalizer keeps a Service until its load balancer is gone.
const balancerFinalizer = "service.kubernetes.io/load-balancer-cleanup"

// balanced reports whether a Service is the service controller's.
func balanced(o *Object) bool {
	svc, ok := o.Value.(*corev1.Service)
	return ok && (svc.Spec.Type == corev1.ServiceTypeLoadBalancer && svc.Spec.LoadBalancerClass == nil || slices.Contains(o.Finalizers(), balancerFinalizer))
}

// withoutBalancer says why the EXTERNAL-IP of a Service is <pending>.
func (s *State) withoutBalancer(o *Object) *Reason {
	svc, ok := o.Value.(*corev1.Service)
	if !ok || svc.Spec.Type != corev1.ServiceTypeLoadBalancer || len(svc.Status.LoadBalancer.Ingress) > 0 || o.Deleting() {
		return nil
	}
	is := fmt.Sprintf("The EXTERNAL-IP of %s is <pending>: ", o.Ref)
	if class := svc.Spec.LoadBalancerClass; class != nil {
		return sentence("%sits loadBalancerClass %s is another controller's, so cloud-controller-manager leaves it alone, and no controller in this cluster has given it an address", is, *class)
	}
	if st := s.Standing(serviceController); !st.Works {
		a := sentence("%sthe %s of cloud-controller-manager, which has the cloud make load balancers, %s", is, serviceController, st.Why)
		a.From = append(a.From, Keeper{What: "cloud-controller-manager", Why: st.Why, Event: st.Event})
		return a
	}
	call := s.CloudCall(o.Ref.Key())
	if call != nil && call.Error != "" {
		a := sentence("%sthe cloud could not make a load balancer: %s", is, call.Error)
		a.From = append(a.From, Keeper{What: "cloud", Why: call.Call + " failed " + took(s.At-call.At) + " ago; the service controller tries again after its back-off", Event: call.Event})
		for _, f := range s.FaultsOn("cloud") {
			a.From = append(a.From, Keeper{What: "cloud", Why: "broken on purpose (kviz fault " + f.Fault.Fault + ")", Event: f.Event})
		}
		return a
	}
	if c := s.Controller(serviceController); c != nil {
		for _, run := range c.Current() {
			if run.Key == o.Ref.Key() {
				a := sentence("%sthe cloud has been asked for a load balancer and is making it", is)
				a.From = append(a.From, Keeper{What: "controller " + serviceController, Why: "works on it since " + took(s.At-run.At), Good: true, Event: run.Start})
				for _, f := range s.FaultsOn("cloud") {
					a.From = append(a.From, Keeper{What: "cloud", Why: strings.TrimSpace("made slower on purpose (kviz fault " + f.Fault.Fault + " " + f.Detail + ")"), Event: f.Event})
				}
				return a
			}
		}
	}
	return sentence("%sthe %s has not looked at it yet", is, serviceController)
}
