// Package servicecidr is the ServiceCIDR controller: it says of each range of cluster IPs
// that it is Ready, and keeps it from being deleted while addresses of it are given out.
//
// The worked idea. A cluster has the ServiceCIDR kubernetes, 10.96.0.0/16, and gets another,
// more, 10.112.0.0/28. The controller gives it the finalizer
// networking.k8s.io/service-cidr-finalizer and the condition Ready; from then on the API
// servers draw addresses of it. One is deleted: kubectl delete servicecidr more.
//
//  1. another ServiceCIDR contains all of its addresses: it may go
//  2. else each IPAddress that only it contains keeps it: Ready becomes False, Terminating
//  3. the last such IPAddress goes with its Service: it may go
//
// It then waits until 10 s after the deletion, so that every API server has seen that the
// range gives nothing any more, and takes the finalizer away.
//
// Mirrors pkg/controller/servicecidrs. Simplified: the condition is written by an update, where
// upstream applies it; nothing is watched before somebody changes a ServiceCIDR or makes one.
// Start reading at sync.go.
package servicecidr

import (
	"net/netip"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Simplified,
	What: "the ServiceCIDR controller updates the condition Ready, where upstream's applies it, and watches nothing before somebody changes a ServiceCIDR or makes one",
})

// The controller's name, and its ServiceAccount.
const (
	Name    = "service-cidr-controller"
	Account = "service-cidrs-controller"
)

const (
	// Finalizer keeps a ServiceCIDR while it has addresses (ServiceCIDRProtectionFinalizer).
	Finalizer = "networking.k8s.io/service-cidr-finalizer"
	// grace is how long after its deletion the finalizer stays in any case (deletionGracePeriod).
	grace = 10 * time.Second
	// maxRetries is how often a ServiceCIDR is tried before it is dropped.
	maxRetries = 15
	// managedBy marks the IPAddresses of cluster IPs (ipallocator ControllerName).
	managedBy = "ipallocator.k8s.io"
)

// Controller is the ServiceCIDR controller.
type Controller struct {
	*reconcile.Env
	cidrs, ips *informer.Informer
	loop       *reconcile.Loop
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env) *Controller { return &Controller{Env: env} }

// Start waits for the first change of a ServiceCIDR and then begins to work.
func (c *Controller) Start() {
	c.Process.Go("await", func(t *sim.Task) {
		client.AwaitUseOf(t, c.Client, client.ServiceCIDRs)
		c.watch()
	})
}

func (c *Controller) watch() {
	c.cidrs, c.ips = c.Informers.For(client.ServiceCIDRs), c.Informers.For(client.IPAddresses)
	c.loop = reconcile.NewLoop(c.Env, "ipaddresses", client.ServiceCIDRs, c.sync)
	c.loop.MaxRetries = maxRetries
	c.cidrs.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) {
			c.loop.Add(t, informer.KeyOf(obj))
			c.neighbours(t, obj.(*networkingv1.ServiceCIDR))
		},
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { c.loop.Add(t, informer.KeyOf(obj)) },
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.loop.Add(t, informer.KeyOf(obj)) },
	})
	c.ips.AddHandler(informer.Handler{
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.address(t, obj.(*networkingv1.IPAddress)) },
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.address(t, obj.(*networkingv1.IPAddress)) },
	})
	c.loop.Start(c.cidrs, c.ips)
}

// neighbours has the ServiceCIDRs looked at that overlap a new one: it may let them go
// (overlappingServiceCIDRs).
func (c *Controller) neighbours(t *sim.Task, of *networkingv1.ServiceCIDR) {
	for _, obj := range c.cidrs.List() {
		other := obj.(*networkingv1.ServiceCIDR)
		if some(other, func(p netip.Prefix) bool { return some(of, p.Overlaps) }) {
			c.loop.Add(t, other.Name)
		}
	}
}

// address has the ServiceCIDRs looked at that contain an address: it may keep them, or have
// kept them (containingServiceCIDRs).
func (c *Controller) address(t *sim.Task, ip *networkingv1.IPAddress) {
	addr, err := netip.ParseAddr(ip.Name)
	if err != nil || ip.Labels[networkingv1.LabelManagedBy] != managedBy {
		return
	}
	for _, cidr := range containing(c.cidrs.List(), addr) {
		c.loop.Add(t, cidr.Name)
	}
}
